#include "app/desktop/scene/residuals_scene.h"

#include "app/desktop/scene/tip.h"
#include "visualizers/chart/time_plot.h"

namespace trainyard {

Drawing ResidualsScene::draw(Size size, double scale) {
  last_ = Drawing(size);
  state_.scale = scale;
  if (const ResidualsModel* model = model_())
    draw_residuals(last_, {0, 0, size.width, size.height}, *model, state_);
  else
    write(last_, words_().toStdString(), {12, 24}, 12, Weight::Regular, Ink::Text2);
  return last_;
}

bool ResidualsScene::input(const InputFrame& frame) {
  if (model_() == nullptr || !frame.pressed[0]) return false;
  state_.selected = hit(last_, frame.at);
  chosen_(state_.selected);
  return true;
}

QString ResidualsScene::tooltip(Point p) {
  const ResidualsModel* model = model_();
  if (model == nullptr) return {};
  const Hover hover = describe_residuals(*model, hit(last_, p));
  return hover.title.empty() ? QString() : tip_html(hover);
}

QString ResidualsScene::description() const {
  const ResidualsModel* model = model_();
  if (model == nullptr) return words_();
  return QString::fromStdString(model->title + ". " + residuals_words(*model) + ".");
}

}  // namespace trainyard
