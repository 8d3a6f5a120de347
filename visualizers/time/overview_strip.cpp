#include "visualizers/time/overview_strip.h"

#include <algorithm>
#include <cmath>

namespace trainyard {
namespace {

constexpr float kRow = 4, kRows = 36;  // px of one row at most, and of all

}  // namespace

OverviewStrip overview_strip(const Rect& area, std::size_t rows, Instant end) {
  OverviewStrip made;
  made.whole = viewport_of(area, {}, end);
  made.row_height =
      std::min(kRow, std::max(1.f, kRows / static_cast<float>(std::max<std::size_t>(1, rows))));
  made.rows = std::min(rows, static_cast<std::size_t>(kRows / made.row_height));
  const float height = made.row_height * static_cast<float>(made.rows);
  made.strip = {made.whole.plot.x, area.y + (area.height - height) / 2, made.whole.plot.width,
                height};
  return made;
}

std::size_t overview_row(const OverviewStrip& overview, std::size_t i, std::size_t of) {
  return i * of / std::max<std::size_t>(1, overview.rows);
}

std::vector<float> tick_columns(const Viewport& whole, double scale, std::size_t count,
                                const std::function<Instant(std::size_t)>& at) {
  std::vector<float> xs;
  const double pixel = 1 / (std::isfinite(scale) && scale > 0 ? scale : 1.0);
  for (std::size_t i = 0; i < count;) {
    const double x = x_of(whole, at(i));
    xs.push_back(static_cast<float>(x));
    const Instant beyond = std::max(time_at(whole, x + pixel), at(i) + Duration{1});
    std::size_t low = i + 1, high = count;
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (at(middle) < beyond)
        low = middle + 1;
      else
        high = middle;
    }
    i = low;
  }
  return xs;
}

void draw_overview_strip(Drawing& drawing, const OverviewStrip& overview, TimeRange shown,
                         const ViewState& state, const std::vector<float>& ticks,
                         const std::function<void(std::size_t, float, float)>& paint_row) {
  const Rect& strip = overview.strip;
  {
    const ClipScope clip(drawing, strip);
    for (std::size_t i = 0; i < overview.rows; ++i)
      paint_row(i, strip.y + overview.row_height * static_cast<float>(i), overview.row_height);
  }
  const Extent e = extent(overview.whole, shown.from, shown.to);
  const float left = std::clamp(e.left, strip.x, strip.right());
  const float right = std::clamp(e.right, left, strip.right());
  for (const Rect& hidden : {Rect{strip.x, strip.y, left - strip.x, strip.height},
                             Rect{right, strip.y, strip.right() - right, strip.height}})
    fill(drawing, hidden, {.ink = Ink::Canvas, .alpha = 0.6f});
  outline(drawing, {left - 1, strip.y - 3, right - left + 2, strip.height + 6},
          {.ink = Ink::Text, .stroke = 1.5f});
  for (const float x : ticks)
    fill(drawing, {x - 0.75f, strip.bottom() - 1, 1.5f, 7}, {.ink = Ink::Select});
  for (const TimeMark& mark : state.marks) {
    const Extent at = extent(overview.whole, mark.from, mark.to);
    if (mark.to < overview.whole.from || mark.from > overview.whole.to) continue;
    polygon(drawing, {{at.left - 4, strip.y - 7}, {at.left + 4, strip.y - 7}, {at.left, strip.y}},
            {.ink = Ink::Warn});
    if (at.width() > 1) fill(drawing, {at.left, strip.y - 7, at.width(), 2}, {.ink = Ink::Warn});
  }
}

TimeRange dragged_to(const OverviewStrip& overview, TimeRange shown, float x, Instant end) {
  Viewport v = overview.whole;
  v.from = time_at(overview.whole, double{x}) - shown.length() / 2;
  v.to = v.from + shown.length();
  v = clamp(v, {.first = Instant{}, .last = end});
  return {v.from, v.to};
}

}  // namespace trainyard
