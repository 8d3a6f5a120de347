#include "app/desktop/scene/view_scene.h"

#include "app/desktop/scene/analyse_scene.h"

namespace trainyard {

Drawing ViewScene::draw(Size size, double scale) {
  last_ = Drawing(size);
  if (session_.data() == nullptr) return last_;
  ViewState state = session_.state();
  state.selected = selected_;
  state.scale = scale;
  return last_ = view_.draw(*session_.data(), size, state);
}

bool ViewScene::input(const InputFrame& frame) {
  if (!frame.pressed[0]) return false;
  selected_ = hit(last_, frame.at);
  return true;
}

QString ViewScene::tooltip(Point p) {
  if (session_.data() == nullptr) return {};
  ViewState state = session_.state();
  state.selected = selected_;
  const Hover hover = view_.describe(*session_.data(), last_, p, state);
  return hover.title.empty() ? QString() : tip_html(hover);
}

QString ViewScene::description() const {
  const QString summary =
      QString::fromUtf8(view_.summary.data(), static_cast<qsizetype>(view_.summary.size()));
  if (session_.data() == nullptr) return summary + ". Nothing has been simulated yet.";
  return summary + ". " + QString::fromStdString(session_.experiment()->result.verdict.sentence);
}

}  // namespace trainyard
