#include "app/desktop/scene/time_navigator.h"

#include <cmath>

#include "app/desktop/controls/canvas_widget.h"

namespace trainyard {
namespace {

constexpr double kNotch = 40;  // pixels that a notch of the wheel moves the picture by

}  // namespace

bool navigate_time(std::optional<TimeRange>& shown, const Viewport& before,
                   const TimeLimits& limits, const InputFrame& frame) {
  Viewport now = before;
  bool moved = false;
  const auto show = [&](const Viewport& next) {
    now = next, moved = true;
    shown = TimeRange{now.from, now.to};
  };
  const Rect& plot = now.plot;
  const double x = frame.inside ? frame.at.x : plot.x + plot.width / 2;
  const double page = plot.width / 8;
  for (const int key : frame.keys) {
    if (key == Qt::Key_W || key == Qt::Key_Plus || key == Qt::Key_Equal)
      show(zoom(now, kZoomStep, x, limits));
    else if (key == Qt::Key_S || key == Qt::Key_Minus)
      show(zoom(now, 1 / kZoomStep, x, limits));
    else if (key == Qt::Key_A)
      show(pan(now, page, limits));
    else if (key == Qt::Key_D)
      show(pan(now, -page, limits));
    else if (key == Qt::Key_Home)
      show(fit(now, limits.first, limits.last, limits)), shown.reset();
  }
  const double up = frame.wheel_y, right = frame.wheel_x;
  if (up != 0 && (frame.modifiers & kControl))
    show(zoom(now, std::pow(kZoomStep, up), x, limits));
  else if ((up != 0 && (frame.modifiers & kShift)) || right != 0)
    show(pan(now, kNotch * ((frame.modifiers & kShift) ? up + right : right), limits));
  return moved;
}

}  // namespace trainyard
