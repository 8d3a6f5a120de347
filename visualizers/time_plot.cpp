#include "visualizers/time_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "visualizers/text_metrics.h"
#include "visualizers/viewmodel/format.h"
#include "visualizers/viewmodel/time_axis.h"

namespace trainyard {
namespace {

constexpr float kTagText = 10.5f;
constexpr float kTagPadding = 5;

float x_in(const Viewport& v, Instant t) { return static_cast<float>(x_of(v, t)); }

struct Unit {
  std::int64_t ns;
  const char* name;
};
constexpr std::array<Unit, 4> kUnits = {
    {{1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "\u00B5s"}, {1, "ns"}}};

bool shows(const Viewport& v, Instant t) { return t >= v.from && t <= v.to; }

// An inverted bar that carries its own start, length and end, as far as they fit.
void draw_range_bar(Drawing& drawing, const Rect& ruler, const Viewport& v, TimeRange range,
                    Instant end) {
  const float left = std::max(v.plot.x, x_in(v, range.from));
  const float right = std::min(v.plot.right(), x_in(v, range.to));
  if (right <= left) return;
  const Rect bar{left, ruler.y + 2, right - left, 16};
  const float middle = bar.y + bar.height / 2;
  fill(drawing, bar, {.ink = Ink::Cursor, .item = {ItemKind::Range, 0}});
  const std::string length = format_duration(range.length());
  const std::string from = instant_text(range.from, end), to = instant_text(range.to, end);
  const float width = text_width(length, kTagText, Weight::SemiBold);
  const float ends = text_width(from, kTagText) + text_width(to, kTagText);
  if (width + 8 > bar.width) return;
  write(drawing, length, {left + bar.width / 2, middle}, kTagText, Weight::SemiBold, Ink::Canvas,
        Align::Center);
  if (width + ends + 32 > bar.width) return;
  write(drawing, from, {left + 6, middle}, kTagText, Weight::Medium, Ink::Canvas);
  write(drawing, to, {right - 6, middle}, kTagText, Weight::Medium, Ink::Canvas, Align::Right);
}

}  // namespace

Rect plot_of(const Rect& area) {
  return {area.x + kGutter, area.y, std::max(0.f, area.width - kGutter - kPlotMargin), area.height};
}

Viewport viewport_of(const Rect& area, const ViewState& state, Instant end) {
  const TimeRange shown = state.shown.value_or(TimeRange{Instant{0}, end});
  return {plot_of(area), shown.from, std::max(shown.to, shown.from + Duration{1}), state.scroll};
}

void draw_ruler(Drawing& drawing, const Rect& area, const Viewport& v) {
  line(drawing, {area.x, area.bottom() - 0.5f}, {area.right(), area.bottom() - 0.5f},
       {.ink = Ink::Border});
  for (const Tick& tick : time_axis(v).ticks) {
    const float x = x_in(v, tick.at);
    const float height = tick.major ? 7.f : 4.f;
    line(drawing, {x, area.bottom() - height}, {x, area.bottom()},
         {.ink = tick.major ? Ink::Axis : Ink::BorderStrong});
    if (!tick.major) continue;
    // Labels stay inside the plot: the first and the last lean inwards.
    const float half = text_width(tick.label, 10) / 2;
    const float middle =
        std::clamp(x, v.plot.x + half, std::max(v.plot.x + half, v.plot.right() - half));
    write(drawing, tick.label, {middle, area.y + 8}, 10, Weight::Medium, Ink::Text2, Align::Center);
  }
}

void draw_grid(Drawing& drawing, const Rect& area, const Viewport& v) {
  for (const Tick& tick : time_axis(v).ticks)
    if (tick.major)
      line(drawing, {x_in(v, tick.at), area.y}, {x_in(v, tick.at), area.bottom()},
           {.ink = Ink::Grid});
}

void draw_time_marks(Drawing& drawing, const Rect& area, const Viewport& v,
                     const ViewState& state) {
  const ClipScope clip(drawing, {v.plot.x - 1, area.y, v.plot.width + 2, area.height});
  if (state.range) {
    const float left = x_in(v, state.range->from), right = x_in(v, state.range->to);
    fill(drawing, {left, area.y, right - left, area.height}, {.ink = Ink::Range, .alpha = 0.06f});
    for (const float x : {left, right})
      line(drawing, {x, area.y}, {x, area.bottom()}, {.ink = Ink::Cursor});
  }
  if (state.cursor && shows(v, *state.cursor)) {
    const float x = x_in(v, *state.cursor);
    line(drawing, {x, area.y}, {x, area.bottom()},
         {.ink = Ink::Cursor, .dash_on = 2, .dash_off = 2});
  }
}

void draw_time_tags(Drawing& drawing, const Rect& ruler, const Viewport& v, const ViewState& state,
                    Instant end) {
  if (state.range) draw_range_bar(drawing, ruler, v, *state.range, end);
  if (!state.cursor || !shows(v, *state.cursor)) return;
  const std::string at = instant_text(*state.cursor, end);
  const float width = tag_width(at);
  const float x = std::clamp(x_in(v, *state.cursor) - width / 2, v.plot.x,
                             std::max(v.plot.x, v.plot.right() - width));
  draw_tag(drawing, at, {x, ruler.y + 10}, 16, Ink::Cursor, Ink::Canvas);
}

std::string instant_text(Instant t, Duration whole) {
  const auto fits = [&](const Unit& unit) { return std::abs(whole.count()) >= unit.ns; };
  const auto found = std::find_if(kUnits.begin(), kUnits.end(), fits);
  const Unit& unit = found == kUnits.end() ? kUnits.back() : *found;
  char digits[64];
  const double value = static_cast<double>(std::abs(t.count())) / static_cast<double>(unit.ns);
  std::snprintf(digits, sizeof digits, "%.*f %s", unit.ns == 1 ? 0 : 3, value, unit.name);
  return (t.count() < 0 ? "\u2212" : "") + std::string(digits);
}

void write(Drawing& drawing, std::string words, Point at, float size, Weight weight, Ink ink,
           Align align) {
  text(drawing, {std::move(words), at, size, weight, Face::Sans, align}, {.ink = ink});
}

float tag_width(const std::string& words) {
  return text_width(words, kTagText, Weight::SemiBold) + 2 * kTagPadding;
}

Rect draw_tag(Drawing& drawing, const std::string& words, Point at, float height, Ink background,
              Ink ink) {
  const Rect box{at.x, at.y - height / 2, tag_width(words), height};
  fill(drawing, box, {.ink = background});
  outline(drawing, box, {.ink = Ink::BorderStrong});
  write(drawing, words, {at.x + kTagPadding, at.y}, kTagText, Weight::SemiBold, ink);
  return box;
}

}  // namespace trainyard
