#include "app/desktop/scene/view_scene.h"

#include "app/desktop/controls/text.h"
#include "visualizers/view_data.h"

namespace trainyard {

ViewScene::ViewScene(Session& session, std::string_view name)
    : ExperimentScene(session, q(view(name).summary)), view_(view(name)) {}

ViewState ViewScene::state(double scale) const {
  ViewState state = session_.state();
  state.selected = selected_;
  state.scale = scale;
  return state;
}

Drawing ViewScene::paint(Size size, double scale) const {
  return view_.draw(data(), size, state(scale));
}

DataTable ViewScene::rows() const { return view_.table(data(), session_.state()); }

bool ViewScene::take(const InputFrame& frame) {
  if (!frame.pressed[0]) return false;
  selected_ = hit(last_, frame.at);
  return true;
}

Hover ViewScene::describe(Point p) const { return view_.describe(data(), last_, p, state(scale_)); }

QString ViewScene::words() const {
  return q(view_.summary) + ". " + q(session_.experiment()->result.verdict.sentence);
}

}  // namespace trainyard
