#include "app/desktop/scene/experiment_scene.h"

#include "app/desktop/scene/tip.h"

namespace trainyard {

Drawing ExperimentScene::draw(Size size, double scale) {
  scale_ = scale;
  last_ = session_.data() == nullptr ? Drawing(size) : paint(size, scale);
  return last_;
}

bool ExperimentScene::input(const InputFrame& frame) {
  return session_.data() != nullptr && take(frame);
}

QString ExperimentScene::tooltip(Point p) {
  if (session_.data() == nullptr) return {};
  const Hover hover = describe(p);
  return hover.title.empty() ? QString() : tip_html(hover, keys());
}

QString ExperimentScene::description() const {
  return session_.data() == nullptr ? name_ + ". Nothing has been simulated yet." : words();
}

Qt::CursorShape ExperimentScene::cursor(Point p) {
  return session_.data() == nullptr ? Qt::ArrowCursor : shape(p);
}

}  // namespace trainyard
