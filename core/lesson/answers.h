// What a student answered: one small file that a lecturer collects, and the histogram of a class.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/lesson/lesson.h"

namespace trainyard {

struct LessonAnswer {
  int lesson = 0;
  std::string question;  // LessonQuestion::id
  std::string unit;      // of value and truth
  double value = 0, truth = 0;
  std::string sure;  // "guess", "fairly", "certain"; empty where it was not asked
  friend bool operator==(const LessonAnswer&, const LessonAnswer&) = default;
};

/// How far somebody is in a lesson.
struct LessonProgress {
  int lesson = 0, step = 0;  // step: of those seen the last, counting from 1
  bool passed = false;       // the check of one's own plan
  friend bool operator==(const LessonProgress&, const LessonProgress&) = default;
};

struct LessonAnswers {
  std::string student;  // as they call themselves; may be empty
  std::vector<LessonAnswer> answers;
  std::vector<LessonProgress> progress;
  friend bool operator==(const LessonAnswers&, const LessonAnswers&) = default;
};

const LessonAnswer* find_answer(const LessonAnswers&, int lesson, std::string_view question);
/// Adds it; an answer that is there already stays: predictions are made once.
void keep_answer(LessonAnswers&, LessonAnswer);
void forget_answers(LessonAnswers&, int lesson);
/// Raises the step that was seen.
void keep_progress(LessonAnswers&, int lesson, int step, bool passed);
int seen_step(const LessonAnswers&, int lesson);  // 0: none

/// A trainyard/answers@1 document; equal answers give equal bytes.
std::string answers_document(const LessonAnswers&);
/// Throws Error{InvalidInput} naming the field, what was expected and what was found.
LessonAnswers parse_answers(std::string_view text, const std::string& source);

/// The answers of a folder's .json files, by name of file.
struct LessonClass {
  std::vector<LessonAnswers> students;
  std::vector<std::string> refused;  // a sentence for each file that is none
};
/// Throws Error{InvalidInput} where the folder does not exist or is none.
LessonClass read_class(const std::string& folder);

/// How a class answered one question.
struct AnswerHistogram {
  int lesson = 0;
  std::string question, words;
  LessonUnit unit;
  double low = 0, high = 0;  // of the bins, in the unit
  std::vector<int> bins;     // equally wide; the last holds `high` too
  double truth = 0;
  int answered = 0, right = 0;
  double median = 0;
};
/// Of every question that somebody answered, in the order of lessons and steps. Truths are those
/// that the files hold.
std::vector<AnswerHistogram> histograms(const LessonClass&, const std::vector<Lesson>&);

}  // namespace trainyard
