// What a step of a lesson shows: its panels under some settings, with the marks of a prediction.
#pragma once

#include <optional>
#include <vector>

#include "app/workspace/lessons/lesson_engine.h"
#include "visualizers/lesson/lesson_panels_view.h"

namespace trainyard {

struct LessonLook {
  std::size_t step = 0;
  LessonSettings settings;       // the step's with what was turned
  bool revealed = false;         // the question was answered: what was hidden is shown
  std::optional<double> answer;  // of the question, in its unit
  int round = 0;                 // of rings
};

/// Never throws: a panel that cannot be computed says why in its place. Marks stand only on the
/// first panel that has the question's unit and the place where both prediction and truth belong.
std::vector<LessonPicture> lesson_pictures(const LessonEngine&, const LessonLook&);

/// "you 22 %", "it is 8.57 %".
std::string guess_words(double value, const LessonUnit&);
std::string truth_words(double value, const LessonUnit&);

}  // namespace trainyard
