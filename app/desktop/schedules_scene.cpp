#include "app/desktop/schedules_scene.h"

#include <algorithm>

#include "app/desktop/analyse_scene.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kStep = 48;  // px that an arrow key or a notch scrolls

}  // namespace

Drawing SchedulesScene::draw(Size size, double scale) {
  last_ = Drawing(size);
  const SchedulesModel* model = comparison_.model();
  if (model == nullptr) {
    const std::string words = !comparison_.error().empty() ? comparison_.error()
                              : comparison_.running()      ? "Comparing schedules …"
                                                           : "Nothing has been simulated yet.";
    write(last_, words, {12, 24}, 12, Weight::Regular, Ink::Text2);
    return last_;
  }
  scroll_by(0);
  state_.scale = scale;
  draw_schedules(last_, area(), *model, state_);
  return last_;
}

void SchedulesScene::scroll_by(float dy) {
  const SchedulesModel* model = comparison_.model();
  if (model == nullptr) return;
  const float hidden =
      std::max(0.F, schedules_content(*model, area()) + kRuler - last_.size.height);
  state_.scroll = std::clamp(state_.scroll + dy, 0.F, hidden);
}

bool SchedulesScene::input(const InputFrame& frame) {
  const float before = state_.scroll;
  if (frame.wheel_y != 0) scroll_by(-kStep * frame.wheel_y);
  for (const int key : frame.keys) {
    if (key == Qt::Key_Down) scroll_by(kStep);
    if (key == Qt::Key_Up) scroll_by(-kStep);
    if (key == Qt::Key_Home) scroll_by(-1e9F);
  }
  return state_.scroll != before;
}

QString SchedulesScene::tooltip(Point p) {
  if (comparison_.model() == nullptr) return {};
  const Hover hover = describe_schedules(*comparison_.model(), area(), state_, hit(last_, p), p);
  return hover.title.empty() ? QString() : tip_html(hover);
}

QString SchedulesScene::description() const {
  const SchedulesModel* model = comparison_.model();
  if (model == nullptr) return "Schedules at equal memory. Nothing has been compared yet.";
  QString text = QString("%1 schedules under a budget of %2 a device.")
                     .arg(model->panels.size())
                     .arg(QString::fromStdString(spell_bytes(model->budget)));
  for (const SchedulePanel& panel : model->panels) {
    text += " " + QString::fromStdString(panel.name) + ": ";
    if (!panel.timeline.ranks.empty()) {
      text += QString::fromStdString(spell_duration(panel.memory.experiment->result.step.value) +
                                     " a step");
      if (!panel.tokens.empty()) text += ", " + QString::fromStdString(panel.tokens);
    }
    if (!panel.why_not.empty()) text += " " + QString::fromStdString(panel.why_not);
    text += ".";
  }
  return text;
}

}  // namespace trainyard
