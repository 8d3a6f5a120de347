#include "app/desktop/scene/range_scene.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/desktop/controls/text.h"
#include "app/desktop/scene/tip.h"
#include "visualizers/drawing/text_metrics.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kStepHeight = 26;
constexpr int kParts = 20;  // that a recording without steps is stepped through in

// To a decimal that a pixel can tell: a hand cannot mean nanoseconds.
Instant round_time(const Viewport& v, float x) {
  const auto unit =
      static_cast<std::int64_t>(std::pow(10, std::floor(std::log10(std::max(1.0, ns_per_px(v))))));
  const std::int64_t at = time_at(v, double{x}).count();
  return Instant{(at + unit / 2) / unit * unit};
}

}  // namespace

RangeScene::RangeScene(TraceExtent extent, std::function<void()> chosen)
    : extent_(std::move(extent)), chosen_(std::move(chosen)), range_(all()) {}

Viewport RangeScene::view() const {
  return viewport_of({0, 0, last_.size.width, last_.size.height}, {}, extent_.end);
}

Drawing RangeScene::draw(Size size, double scale) {
  last_ = Drawing(size);
  const Rect ruler{0, 0, size.width, kRuler};
  const Rect lane{0, kRuler, size.width, std::max(0.F, size.height - kRuler)};
  ViewState state;
  state.scale = scale;
  if (range_ != all()) state.range = range_;
  const Viewport v = view();
  draw_ruler(last_, ruler, v, state, extent_.end);
  const float y = lane.y + (lane.height - kStepHeight) / 2;
  write(last_, extent_.steps.empty() ? "Recording" : "Steps", {10, y + kStepHeight / 2}, 11,
        Weight::SemiBold, Ink::Text);
  if (extent_.steps.empty())
    box(last_, {v.plot.x, y, v.plot.width, kStepHeight}, {.ink = Ink::Raised});
  for (std::size_t i = 0; i < extent_.steps.size(); ++i) {
    const ExtentStep& step = extent_.steps[i];
    const Extent e = extent(v, step.from, step.to);
    const Rect rect{e.left, y, std::max(1.F, e.width()), kStepHeight};
    box(last_, rect, {.ink = Ink::Forward, .item = {ItemKind::Other, i}});
    const std::string number = std::to_string(step.number);
    if (text_width(number, 10) + 6 < rect.width)
      text(last_,
           {.text = number,
            .at = {rect.x + rect.width / 2, y + kStepHeight / 2},
            .align = Align::Center},
           {.ink = label_ink(Ink::Forward)});
  }
  draw_time_marks(last_, lane, v, state);
  draw_time_tags(last_, ruler, v, state, extent_.end);
  return last_;
}

void RangeScene::choose(TimeRange range) {
  range.from = std::clamp(range.from, Instant{}, extent_.end - Duration{1});
  range.to = std::clamp(range.to, range.from + Duration{1}, extent_.end);
  range_ = range;
  chosen_();
}

bool RangeScene::mouse(const InputFrame& frame) {
  const bool moved = std::abs(frame.at.x - pressed_.x) > kClick;
  if (frame.pressed[0]) {
    pressed_ = frame.at;
    dragging_ = true;
    if (frame.twice) choose(all());
    return true;
  }
  if (!dragging_ || !(frame.down[0] || frame.released[0])) return false;
  dragging_ = frame.down[0];
  if (moved) {
    const Instant a = round_time(view(), pressed_.x), b = round_time(view(), frame.at.x);
    choose({std::min(a, b), std::max(a, b)});
  } else if (frame.released[0]) {
    const Item item = hit(last_, frame.at);
    if (item.kind == ItemKind::Other && item.tag < extent_.steps.size())
      choose({extent_.steps[item.tag].from, extent_.steps[item.tag].to});
  }
  return true;
}

void RangeScene::move(int direction) {
  const bool whole = range_ == all();
  if (extent_.steps.empty()) {
    const Duration part = std::max(Duration{1}, extent_.end / kParts);
    if (whole)
      return choose(
          {direction > 0 ? Instant{} : extent_.end - part, direction > 0 ? part : extent_.end});
    const Duration length = range_.length();
    const Instant from =
        std::clamp(range_.from + direction * length, Instant{}, extent_.end - length);
    return choose({from, from + length});
  }
  const ExtentStep* next = nullptr;
  for (const ExtentStep& step : extent_.steps) {
    if (direction > 0 && (whole || step.from > range_.from)) {
      next = &step;
      break;
    }
    if (direction < 0 && (whole || step.from < range_.from)) next = &step;
  }
  if (next != nullptr) choose({next->from, next->to});
}

void RangeScene::extend(int direction) {
  if (extent_.steps.empty())
    return choose(
        {range_.from, range_.to + direction * std::max(Duration{1}, extent_.end / kParts)});
  const ExtentStep* next = nullptr;
  for (const ExtentStep& step : extent_.steps) {
    if (step.to <= range_.from) continue;
    if (direction > 0 && step.to > range_.to) {
      next = &step;
      break;
    }
    if (direction < 0 && step.to < range_.to) next = &step;
  }
  if (next != nullptr) choose({range_.from, next->to});
}

bool RangeScene::key(int pressed, bool extends) {
  switch (pressed) {
    case Qt::Key_Left:
    case Qt::Key_Right: {
      const int direction = pressed == Qt::Key_Right ? 1 : -1;
      if (extends)
        extend(direction);
      else
        move(direction);
      return true;
    }
    case Qt::Key_Home:
      choose(all());
      return true;
    default:
      return false;
  }
}

bool RangeScene::input(const InputFrame& frame) {
  bool changed = mouse(frame);
  for (const int pressed : frame.keys)
    changed = key(pressed, (frame.modifiers & kShift) != 0) || changed;
  return changed;
}

QString RangeScene::tooltip(Point at) {
  const Item item = hit(last_, at);
  if (item.kind != ItemKind::Other || item.tag >= extent_.steps.size()) return {};
  const ExtentStep& step = extent_.steps[item.tag];
  Hover hover;
  hover.title = "Step " + std::to_string(step.number);
  hover.value = format_step_time(step.to - step.from);
  hover.where = "from " + instant_text(step.from, extent_.end);
  return tip_html(hover);
}

QString RangeScene::description() const {
  if (range_ == all())
    return "All of the recording of " + q(spell_duration(extent_.end)) +
           " is chosen. Left and right go from part to part, with Shift they move its end.";
  return "From " + q(spell_duration(range_.from)) + " to " + q(spell_duration(range_.to)) +
         " of a recording of " + q(spell_duration(extent_.end)) + ".";
}

}  // namespace trainyard
