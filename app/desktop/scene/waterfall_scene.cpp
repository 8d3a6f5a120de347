#include "app/desktop/scene/waterfall_scene.h"

#include "app/desktop/scene/tip.h"
#include "visualizers/chart/time_plot.h"

namespace trainyard {

void WaterfallScene::show(std::optional<WaterfallModel> model, const QString& words) {
  model_ = std::move(model);
  words_ = words;
}

Drawing WaterfallScene::draw(Size size, double) {
  last_ = Drawing(size);
  if (model_)
    draw_waterfall(last_, {0, 0, size.width, size.height}, *model_, {});
  else
    write(last_, words_.toStdString(), {12, 20}, 12, Weight::Regular, Ink::Text3);
  return last_;
}

QString WaterfallScene::tooltip(Point at) {
  if (!model_) return {};
  const Hover hover = describe_waterfall(*model_, hit(last_, at));
  return hover.title.empty() ? QString() : tip_html(hover);
}

QString WaterfallScene::description() const {
  return model_ ? QString::fromStdString(model_->title + ". " + waterfall_words(*model_)) + "."
                : words_;
}

}  // namespace trainyard
