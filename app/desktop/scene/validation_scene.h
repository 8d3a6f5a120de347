// The picture of predicted against measured as a scene: a click chooses a row, or a source that
// then stands out.
#pragma once

#include <functional>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/session/published.h"

namespace trainyard {

class ValidationScene : public Scene {
 public:
  /// chosen: told the row that was clicked.
  ValidationScene(const Published& published, std::function<void(int)> chosen)
      : published_(published), chosen_(std::move(chosen)) {}

  void select(Item item) { state_.selected = item; }
  Drawing draw(Size, double scale) override;
  bool input(const InputFrame&) override;
  QString tooltip(Point) override;
  QString description() const override;

 private:
  const Published& published_;
  std::function<void(int)> chosen_;
  ViewState state_;
  Drawing last_{Size{}};
};

/// What there is to say while there is no result.
QString words_of(const Published&);

}  // namespace trainyard
