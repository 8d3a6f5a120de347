// Schedules beside each other as a scene: wheel and arrow keys scroll, the pointer is told what is
// under it.
#pragma once

#include "app/desktop/canvas_widget.h"
#include "app/desktop/comparison.h"

namespace trainyard {

class SchedulesScene : public Scene {
 public:
  /// The comparison must outlive it.
  explicit SchedulesScene(const Comparison& comparison) : comparison_(comparison) {}

  Drawing draw(Size, double scale) override;
  bool input(const InputFrame&) override;
  QString tooltip(Point) override;
  QString description() const override;

 private:
  Rect area() const { return {0, 0, last_.size.width, last_.size.height}; }
  void scroll_by(float);

  const Comparison& comparison_;
  Drawing last_{Size{}};
  ViewState state_;
};

}  // namespace trainyard
