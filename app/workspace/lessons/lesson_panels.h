// Makes the panels that a step of a lesson shows under some settings, with the marks of a
// prediction.
#pragma once

#include <optional>
#include <vector>

#include "app/workspace/lessons/lesson_engine.h"
#include "visualizers/lesson/lesson_panels_view.h"

namespace trainyard {

struct LessonLook {
  std::size_t step = 0;
  LessonSettings settings;       // those of the step, with the user's changes
  bool revealed = false;         // the question was answered, so hidden parts are shown
  std::optional<double> answer;  // to the question, in its unit
  int round = 0;                 // round of the ring collective shown
};

/// Never throws: a panel that cannot be computed states the reason in its place. Marks appear only
/// on the first panel with the question's unit, at the place where both the prediction and the
/// truth belong.
std::vector<LessonPicture> lesson_pictures(const LessonEngine&, const LessonLook&);

/// Such as "you 22 %" and "it is 8.57 %".
std::string guess_words(double value, const LessonUnit&);
std::string truth_words(double value, const LessonUnit&);

}  // namespace trainyard
