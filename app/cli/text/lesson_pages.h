// Writes lessons, their numbers and the answers of a class as text, documents and pictures.
#pragma once

#include <string>
#include <vector>

#include "app/workspace/lessons/lesson_engine.h"
#include "core/io/json/json.h"
#include "core/lesson/answers.h"
#include "visualizers/drawing/drawing.h"

namespace trainyard {

struct LessonShown {
  std::size_t step = 0;  // counting from 1; 0: all
  bool revealed = false, notes = false;
};

// The documents' JSON Schemas.
Json lesson_schema();
Json lessons_schema();
Json lesson_figures_schema();
Json histogram_schema();

std::string lesson_title(const Lesson&);
/// A step's heading and prose, with its numbers computed.
std::string step_text(const LessonEngine&, std::size_t step);
/// What a step says once its question is answered.
std::string after_text(const LessonEngine&, std::size_t step);
/// The question with its unit and range, to ask on a terminal.
std::string prompt_words(const LessonQuestion&);
/// The answer beside the truth on a scale in the question's unit, whether it is right, and the
/// misconception that it suggests.
std::string marked_text(const Lesson&, const LessonQuestion&, double answer, double truth);
std::string lesson_pages(const LessonEngine&, const LessonShown&);
std::string lesson_document(const LessonEngine&, const LessonShown&);

std::string lessons_text();
std::string lessons_document();

/// hold: whether all figures hold.
std::string figures_text(const std::vector<Lesson>&, bool& hold);
std::string figures_document(const std::vector<Lesson>&, bool& hold);

/// The check for a lesson's author that everything in the lesson can be computed.
struct CheckedLesson {
  std::size_t figures = 0, questions = 0, panels = 0;
  std::vector<std::string> wrong;  // a sentence each
};
CheckedLesson check_lesson(const LessonEngine&);
std::string checked_text(const std::string& file, const Lesson&, const CheckedLesson&);

std::string histogram_text(const LessonClass&, const std::vector<AnswerHistogram>&);
std::string histogram_document(const LessonClass&, const std::vector<AnswerHistogram>&);
/// The histograms, one below the other.
Drawing histograms_picture(const std::vector<AnswerHistogram>&);

}  // namespace trainyard
