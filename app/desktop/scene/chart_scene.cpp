#include "app/desktop/scene/chart_scene.h"

#include "app/desktop/scene/tip.h"
#include "visualizers/chart/time_plot.h"

namespace trainyard {

Drawing ChartScene::draw(Size size, double scale) {
  last_ = Drawing(size);
  state_.scale = scale;
  drawn_ = draw_(last_, state_);
  if (!drawn_) write(last_, words_().toStdString(), {12, 24}, 12, Weight::Regular, Ink::Text2);
  return last_;
}

bool ChartScene::input(const InputFrame& frame) {
  if (!drawn_ || !frame.pressed[0]) return false;
  state_.selected = hit(last_, frame.at);
  chosen_(state_.selected);
  return true;
}

QString ChartScene::tooltip(Point p) {
  const Hover hover = describe_(hit(last_, p));
  return hover.title.empty() ? QString() : tip_html(hover);
}

}  // namespace trainyard
