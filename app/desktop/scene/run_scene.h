// The run beside its prediction as a scene: keys and wheel zoom, pan and scroll.
#pragma once

#include "app/desktop/controls/canvas_widget.h"
#include "visualizers/run/run_view.h"

namespace trainyard {

class RunScene : public Scene {
 public:
  /// The model must outlive it; what it has may change.
  explicit RunScene(const RunModel& model) : model_(model) {}

  Drawing draw(Size, double scale) override;
  bool input(const InputFrame&) override;
  QString tooltip(Point) override;
  QString description() const override;

 private:
  Rect area() const { return {0, 0, last_.size.width, last_.size.height}; }
  void scroll_by(float);

  const RunModel& model_;
  Drawing last_{Size{}};
  ViewState state_;
};

}  // namespace trainyard
