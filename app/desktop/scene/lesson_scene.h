// The pictures of a lesson's step on a canvas, and below them how the class answered.
#pragma once

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/session/lesson_session.h"
#include "app/workspace/lessons/lesson_histogram.h"

namespace trainyard {

class LessonScene : public Scene {
 public:
  explicit LessonScene(const LessonSession& session) : session_(session) {}

  /// How much larger than usual text is: 1.5 for a projector.
  void set_large(float large) { large_ = large; }
  Drawing draw(Size, double scale) override;
  QString description() const override;

 private:
  /// Those of the screen, with the run that they show.
  std::vector<LessonPicture> pictures() const;

  const LessonSession& session_;
  float large_ = 1;
};

}  // namespace trainyard
