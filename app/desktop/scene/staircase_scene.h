// The staircase of a probe as a scene: a click chooses a width.
#pragma once

#include <functional>

#include "app/desktop/controls/canvas_widget.h"
#include "visualizers/probe/staircase_view.h"

namespace trainyard {

class StaircaseScene : public Scene {
 public:
  /// probe: null while there is none; words: what is said then.
  StaircaseScene(std::function<const WidthProbe*()> probe, std::function<QString()> words)
      : probe_(std::move(probe)), words_(std::move(words)) {}

  Item selected() const { return state_.selected; }
  void select(Item item) { state_.selected = item; }
  Drawing draw(Size, double scale) override;
  bool input(const InputFrame&) override;
  QString tooltip(Point) override;
  QString description() const override;

 private:
  std::function<const WidthProbe*()> probe_;
  std::function<QString()> words_;
  ViewState state_;
  Drawing last_{Size{}};
};

}  // namespace trainyard
