// This file holds what a student answered, as one small file that a lecturer collects, and the
// histogram of a class's answers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/lesson/lesson.h"

namespace trainyard {

template <class T>
class Fields;

struct LessonAnswer {
  int lesson = 0;
  std::string question;  // LessonQuestion::id
  std::string unit;      // of value and truth
  double value = 0, truth = 0;
  std::string sure;  // "guess", "fairly", "certain"; empty where the student was not asked
  friend bool operator==(const LessonAnswer&, const LessonAnswer&) = default;
};

/// LessonProgress says how far a student is in a lesson.
struct LessonProgress {
  int lesson = 0, step = 0;  // step: the last one seen, counting from 1
  bool passed = false;       // whether the student's own plan passed the lesson's check
  friend bool operator==(const LessonProgress&, const LessonProgress&) = default;
};

struct LessonAnswers {
  std::string student;  // the name that the student typed; may be empty
  std::vector<LessonAnswer> answers;
  std::vector<LessonProgress> progress;
  friend bool operator==(const LessonAnswers&, const LessonAnswers&) = default;
};

const LessonAnswer* find_answer(const LessonAnswers&, int lesson, std::string_view question);
/// Adds the answer. An answer to the same question that is already there stays, because a
/// prediction is made only once.
void keep_answer(LessonAnswers&, LessonAnswer);
void forget_answers(LessonAnswers&, int lesson);
/// Raises the last step seen to `step`, if that is later, and notes whether the check was passed.
void keep_progress(LessonAnswers&, int lesson, int step, bool passed);
int seen_step(const LessonAnswers&, int lesson);  // 0 = none

/// The members of the document (core/io/json/fields.h).
const Fields<LessonAnswers>& answers_fields();
/// Returns a trainyard/answers@1 document; equal answers give equal bytes.
std::string answers_document(const LessonAnswers&);
/// Throws Error{InvalidInput} naming the field, what was expected and what was found.
LessonAnswers parse_answers(std::string_view text, const std::string& source);

/// A LessonClass holds the answers of a folder's .json files, ordered by file name.
struct LessonClass {
  std::vector<LessonAnswers> students;
  std::vector<std::string> refused;  // one sentence for each file that is no answers document
};
/// Throws Error{InvalidInput} where the folder does not exist or is no folder.
LessonClass read_class(const std::string& folder);

/// An AnswerHistogram shows how a class answered one question.
struct AnswerHistogram {
  int lesson = 0;
  std::string question, words;
  LessonUnit unit;
  double low = 0, high = 0;  // range of the bins, in the unit
  std::vector<int> bins;     // equally wide; the last also includes `high`
  double truth = 0;
  int answered = 0, right = 0;
  double median = 0;
};
/// Returns one histogram for every question that somebody answered, in the order of lessons and
/// steps. The true values are those stored in the answer files.
std::vector<AnswerHistogram> histograms(const LessonClass&, const std::vector<Lesson>&);

}  // namespace trainyard
