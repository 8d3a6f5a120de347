#include "app/desktop/scene/run_scene.h"
#include "app/desktop/controls/canvas_widget.h"

#include <algorithm>

#include "app/desktop/scene/time_navigator.h"
#include "app/desktop/scene/tip.h"
#include "visualizers/run/run_now.h"

namespace trainyard {
Drawing RunScene::draw(Size size, double scale) {
  last_ = Drawing(size);
  if (!model_.predicted) {
    const bool said = !model_.status.empty();
    write(last_,
          said ? model_.status
               : "Nothing has been trained yet. Ctrl R trains the plan on this machine, live over "
                 "what was predicted.",
          {12, 24}, 12, Weight::Regular, model_.failed ? Ink::Error : Ink::Text2);
    return last_;
  }
  scroll_by(0);
  state_.scale = scale;
  draw_run(last_, area(), model_, state_);
  return last_;
}

void RunScene::scroll_by(float dy) {
  state_.scroll = std::clamp(state_.scroll + dy, 0.F, run_overhang(model_, area()));
}

bool RunScene::input(const InputFrame& frame) {
  if (!model_.predicted) return false;
  const Viewport now = viewport_of(run_layout(model_, area()).ranks, state_, run_end(model_));
  bool moved =
      navigate_time(state_.shown, now, {.first = Instant{}, .last = run_end(model_)}, frame);
  if (!moved && frame.wheel_y != 0) scroll_by(-kScrollStep * frame.wheel_y), moved = true;
  for (const int key : frame.keys) {
    if (key == Qt::Key_Home) state_.scroll = 0;
    if (key != Qt::Key_Down && key != Qt::Key_Up) continue;
    scroll_by(key == Qt::Key_Down ? kScrollStep : -kScrollStep);
    moved = true;
  }
  return moved;
}

QString RunScene::tooltip(Point p) {
  const Hover hover = describe_run(model_, area(), state_, hit(last_, p), p);
  return hover.title.empty() ? QString() : tip_html(hover);
}

QString RunScene::description() const { return QString::fromStdString(spell_run(model_)); }

}  // namespace trainyard
