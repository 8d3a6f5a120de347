#include "app/desktop/scene/run_scene.h"
#include "app/desktop/controls/canvas_widget.h"

#include <algorithm>

#include "app/desktop/scene/analyse_scene.h"
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

void RunScene::show(const Viewport& view) {
  const TimeLimits limits{.first = Instant{}, .last = run_end(model_)};
  const Viewport kept = clamp(view, limits);
  state_.shown = TimeRange{kept.from, kept.to};
}

void RunScene::zoom_by(double factor, double x) {
  const Viewport now = viewport_of(run_layout(model_, area()).ranks, state_, run_end(model_));
  show(zoom(now, factor, x, {.first = Instant{}, .last = run_end(model_)}));
}

void RunScene::pan_by(double dx) {
  const Viewport now = viewport_of(run_layout(model_, area()).ranks, state_, run_end(model_));
  show(pan(now, dx, {.first = Instant{}, .last = run_end(model_)}));
}

bool RunScene::input(const InputFrame& frame) {
  if (!model_.predicted) return false;
  const Rect plot = plot_of(run_layout(model_, area()).ranks);
  const double x = frame.inside ? frame.at.x : plot.x + plot.width / 2;
  bool moved = false;
  if (frame.wheel_y != 0) {
    if (frame.modifiers & kControl)
      zoom_by(frame.wheel_y > 0 ? kZoomStep : 1 / kZoomStep, x);
    else if (frame.modifiers & kShift)
      pan_by(kScrollStep * frame.wheel_y);
    else
      scroll_by(-kScrollStep * frame.wheel_y);
    moved = true;
  }
  for (const int key : frame.keys) {
    moved = true;
    if (key == Qt::Key_Down)
      scroll_by(kScrollStep);
    else if (key == Qt::Key_Up)
      scroll_by(-kScrollStep);
    else if (key == Qt::Key_W || key == Qt::Key_Plus || key == Qt::Key_Equal)
      zoom_by(kZoomStep, x);
    else if (key == Qt::Key_S || key == Qt::Key_Minus)
      zoom_by(1 / kZoomStep, x);
    else if (key == Qt::Key_A)
      pan_by(2 * kScrollStep);
    else if (key == Qt::Key_D)
      pan_by(-2 * kScrollStep);
    else if (key == Qt::Key_Home)
      state_.shown.reset(), state_.scroll = 0;
    else
      moved = false;
  }
  return moved;
}

QString RunScene::tooltip(Point p) {
  const Hover hover = describe_run(model_, area(), state_, hit(last_, p), p);
  return hover.title.empty() ? QString() : tip_html(hover);
}

QString RunScene::description() const { return QString::fromStdString(spell_run(model_)); }

}  // namespace trainyard
