// A waterfall as a scene: it draws and tells what each bar is.
#pragma once

#include <optional>

#include "app/desktop/controls/canvas_widget.h"
#include "visualizers/compare/waterfall_view.h"

namespace trainyard {

class WaterfallScene : public Scene {
 public:
  /// words: what stands there instead, where there is none.
  void show(std::optional<WaterfallModel> model, const QString& words = {});
  const std::optional<WaterfallModel>& model() const { return model_; }

  Drawing draw(Size, double scale) override;
  QString tooltip(Point) override;
  QString description() const override;

 private:
  std::optional<WaterfallModel> model_;
  QString words_;
  Drawing last_{Size{}};
};

}  // namespace trainyard
