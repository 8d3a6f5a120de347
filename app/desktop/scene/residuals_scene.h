// Measured against predicted as a scene: a click chooses a point.
#pragma once

#include <functional>

#include "app/desktop/controls/canvas_widget.h"
#include "visualizers/roofline/residuals_view.h"

namespace trainyard {

class ResidualsScene : public Scene {
 public:
  /// model: null while there is none; words: what is said then; chosen: told the point that was
  /// clicked.
  ResidualsScene(std::function<const ResidualsModel*()> model, std::function<QString()> words,
                 std::function<void(Item)> chosen)
      : model_(std::move(model)), words_(std::move(words)), chosen_(std::move(chosen)) {}

  void select(Item item) { state_.selected = item; }
  Item selected() const { return state_.selected; }
  Drawing draw(Size, double scale) override;
  bool input(const InputFrame&) override;
  QString tooltip(Point) override;
  QString description() const override;

 private:
  std::function<const ResidualsModel*()> model_;
  std::function<QString()> words_;
  std::function<void(Item)> chosen_;
  ViewState state_;
  Drawing last_{Size{}};
};

}  // namespace trainyard
