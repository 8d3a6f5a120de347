#include "app/desktop/scene/schedules_scene.h"
#include "app/desktop/controls/canvas_widget.h"

#include <algorithm>

#include "app/desktop/scene/tip.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
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
  if (const SchedulePanel* chosen = chosen_panel())
    state_.selected.tag = static_cast<std::size_t>(chosen - model->panels.data());
  else
    state_.selected = {};
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

const SchedulePanel* SchedulesScene::chosen_panel() const {
  const SchedulesModel* model = comparison_.model();
  if (model == nullptr || state_.selected.kind != ItemKind::Other) return nullptr;
  // By name: panels change places from one comparison to the next.
  for (const SchedulePanel& panel : model->panels)
    if (panel.name == chosen_) return &panel;
  return nullptr;
}

void SchedulesScene::choose(std::size_t panel) {
  state_.selected = {ItemKind::Other, panel};
  chosen_ = comparison_.model()->panels[panel].name;
  if (on_chosen) on_chosen();
}

void SchedulesScene::bring_into_sight(std::size_t panel) {
  const Rect place = panel_area(*comparison_.model(), area(), panel, state_.scroll);
  if (place.y < kRuler) scroll_by(place.y - kRuler);
  if (place.bottom() > last_.size.height)
    scroll_by(std::min(place.y - kRuler, place.bottom() - last_.size.height));
}

bool SchedulesScene::input(const InputFrame& frame) {
  const SchedulesModel* model = comparison_.model();
  if (model == nullptr || model->panels.empty()) return false;
  const float before = state_.scroll;
  const Item chosen = state_.selected;
  if (frame.wheel_y != 0) scroll_by(-kScrollStep * frame.wheel_y);
  if (frame.pressed[0])
    for (std::size_t i = 0; i < model->panels.size(); ++i)
      if (frame.at.y >= kRuler && contains(panel_area(*model, area(), i, state_.scroll), frame.at))
        choose(i);
  for (const int key : frame.keys) {
    const std::size_t last = model->panels.size() - 1;
    const std::size_t now = chosen_panel() == nullptr
                                ? (key == Qt::Key_Up ? last + 1 : std::size_t(-1))
                                : static_cast<std::size_t>(chosen_panel() - model->panels.data());
    if (key == Qt::Key_Down && now != last) choose(now + 1), bring_into_sight(now + 1);
    if (key == Qt::Key_Up && now > 0) choose(now - 1), bring_into_sight(now - 1);
    if (key == Qt::Key_Home) choose(0), bring_into_sight(0);
    if (key == Qt::Key_End) choose(last), bring_into_sight(last);
    if (key == Qt::Key_PageDown) scroll_by(0.9F * last_.size.height);
    if (key == Qt::Key_PageUp) scroll_by(-0.9F * last_.size.height);
    if ((key == Qt::Key_Return || key == Qt::Key_Enter) && on_taken) on_taken();
  }
  return state_.scroll != before || state_.selected != chosen;
}

QString SchedulesScene::tooltip(Point p) {
  if (comparison_.model() == nullptr) return {};
  const Hover hover = describe_schedules(*comparison_.model(), area(), state_, hit(last_, p), p);
  return hover.title.empty() ? QString() : tip_html(hover);
}

QString SchedulesScene::description() const {
  const SchedulesModel* model = comparison_.model();
  if (model == nullptr) return "Schedules at equal memory. Nothing has been compared yet.";
  QString text = QString("%1 schedules under a budget of %2 per device.")
                     .arg(model->panels.size())
                     .arg(QString::fromStdString(spell_bytes(model->budget)));
  if (const SchedulePanel* chosen = chosen_panel())
    text += " Chosen: " + QString::fromStdString(chosen->name) + "; Enter takes it.";
  for (const SchedulePanel& panel : model->panels) {
    text += " " + QString::fromStdString(panel.name) + ": ";
    if (!panel.timeline.ranks.empty()) {
      text += QString::fromStdString(spell_duration(panel.memory.experiment->result.step.value) +
                                     " per step");
      if (!panel.tokens.empty()) text += ", " + QString::fromStdString(panel.tokens);
    }
    if (!panel.why_not.empty()) text += " " + QString::fromStdString(panel.why_not);
    text += ".";
  }
  return text;
}

}  // namespace trainyard
