#include "visualizers/chart/time_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "visualizers/drawing/text_metrics.h"
#include "visualizers/viewmodel/format.h"
#include "visualizers/viewmodel/time_axis.h"

namespace trainyard {
namespace {

constexpr float kTagText = 10.5f;
constexpr float kTagPadding = 5;

// Places far outside the plot are moved closer to it, so that no renderer meets enormous numbers.
float x_in(const Viewport& v, Instant t) {
  return static_cast<float>(
      std::clamp(x_of(v, t), double{v.plot.x} - 1e4, double{v.plot.right()} + 1e4));
}

struct Unit {
  std::int64_t ns;
  const char* name;
};
constexpr std::array<Unit, 4> kUnits = {
    {{1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "\u00B5s"}, {1, "ns"}}};

bool shows(const Viewport& v, Instant t) { return t >= v.from && t <= v.to; }

// Where the bar of the range lies. It is empty if there is no range or none of it is shown.
Rect range_bar(const Rect& ruler, const Viewport& v, const ViewState& state) {
  if (!state.range) return {};
  const float left = std::max(v.plot.x, x_in(v, state.range->from));
  const float right = std::min(v.plot.right(), x_in(v, state.range->to));
  return right > left ? Rect{left, ruler.y + 2, right - left, 16} : Rect{};
}

Rect cursor_tag(const Rect& ruler, const Viewport& v, const ViewState& state, Instant end) {
  if (!state.cursor || !shows(v, *state.cursor)) return {};
  const float width = tag_width(instant_text(*state.cursor, end));
  const float last = std::max(v.plot.x, v.plot.right() - width);
  return {std::clamp(x_in(v, *state.cursor) - width / 2, v.plot.x, last), ruler.y + 2, width, 16};
}

// Draws the bar of the range, with its start, length and end in it as far as they fit and the tag
// of the cursor does not cover them.
void draw_range_bar(Drawing& drawing, const Rect& bar, const Rect& cursor, TimeRange range,
                    Instant end) {
  if (bar.width <= 0) return;
  const float middle = bar.y + bar.height / 2;
  fill(drawing, bar, {.ink = Ink::Cursor, .item = {ItemKind::Range, 0}});
  const std::string length = format_duration(range.length());
  const std::string from = instant_text(range.from, end), to = instant_text(range.to, end);
  const float width = text_width(length, kTagText, Weight::SemiBold);
  const float ends = text_width(from, kTagText) + text_width(to, kTagText);
  const auto put = [&](const std::string& words, float left, Weight weight) {
    const float right = left + text_width(words, kTagText, weight);
    if (cursor.width > 0 && left < cursor.right() && cursor.x < right) return;
    write(drawing, words, {left, middle}, kTagText, weight, Ink::Canvas);
  };
  if (width + 8 > bar.width) return;
  put(length, bar.x + (bar.width - width) / 2, Weight::SemiBold);
  if (width + ends + 32 > bar.width) return;
  put(from, bar.x + 6, Weight::Medium);
  put(to, bar.right() - 6 - text_width(to, kTagText), Weight::Medium);
}

constexpr float kFlagName = 110;  // the most px that a mark's name takes

std::string flag_name(const TimeMark& mark) { return fit_text(mark.name, kFlagName, 10); }

// Where the flag and the name of a mark lie. It is empty if none of the mark is shown.
Rect flag_of(const Rect& ruler, const Viewport& v, const TimeMark& mark) {
  if (!shows(v, mark.from)) return {};
  const float name = mark.name.empty() ? 0 : 4 + text_width(flag_name(mark), 10);
  return {x_in(v, mark.from), ruler.y + 4, 9 + name, 8};
}

// Draws a pole on the ruler with a flag to the right of it, and for a range a bar to its end.
void draw_flag(Drawing& drawing, const Rect& ruler, const Viewport& v, const TimeMark& mark,
               std::uint64_t tag) {
  const Style style{.ink = Ink::Warn, .item = {ItemKind::Other, tag}};
  const float x = x_in(v, mark.from), top = ruler.y + 4, bottom = ruler.bottom();
  line(drawing, {x, top}, {x, bottom}, style);
  polygon(drawing, {{x, top}, {x + 9, top}, {x + 7, top + 3}, {x + 9, top + 7}, {x, top + 7}},
          style);
  const float right = std::min(x_in(v, mark.to), v.plot.right());
  const float left = std::max(x, v.plot.x);
  if (right - left > 1) fill(drawing, {left, bottom - 3, right - left, 3}, style);
  if (!mark.name.empty() && x >= v.plot.x)
    write(drawing, flag_name(mark), {x + 13, top + 4}, 10, Weight::Medium, Ink::Warn);
}

}  // namespace

Rect plot_of(const Rect& area) {
  return {area.x + kGutter, area.y, std::max(0.f, area.width - kGutter - kPlotMargin), area.height};
}

Viewport viewport_of(const Rect& area, const ViewState& state, Instant end) {
  const TimeRange shown = state.shown.value_or(TimeRange{Instant{0}, end});
  return {plot_of(area), shown.from, std::max(shown.to, shown.from + Duration{1}), state.scroll};
}

ViewState state_in_run(const ViewState& state, TimeRange step, Instant end) {
  ViewState own = state;
  const TimeRange shown = state.shown.value_or(TimeRange{Instant{0}, end});
  own.shown = TimeRange{shown.from + step.from, shown.to + step.from};
  own.scroll = 0;
  return own;
}

float cut_x(const Viewport& v, Instant t) {
  const double low = double{v.plot.x} - kBeyondPlot, high = double{v.plot.right()} + kBeyondPlot;
  return static_cast<float>(std::clamp(x_of(v, t), low, high));
}

Extent extent(const Viewport& v, Instant start, Instant end) {
  return {cut_x(v, start), cut_x(v, end)};
}

void draw_ruler(Drawing& drawing, const Rect& area, const Viewport& v, const ViewState& state,
                Instant end) {
  std::vector<Rect> covered = {range_bar(area, v, state), cursor_tag(area, v, state, end)};
  for (const TimeMark& mark : state.marks) covered.push_back(flag_of(area, v, mark));
  line(drawing, {area.x, area.bottom() - 0.5f}, {area.right(), area.bottom() - 0.5f},
       {.ink = Ink::Border});
  for (const Tick& tick : time_axis(v).ticks) {
    const float x = x_in(v, tick.at);
    const float height = tick.major ? 7.f : 4.f;
    line(drawing, {x, area.bottom() - height}, {x, area.bottom()},
         {.ink = tick.major ? Ink::Axis : Ink::BorderStrong});
    if (!tick.major) continue;
    // The first and the last label are moved inwards, so that all labels stay inside the plot.
    const float half = text_width(tick.label, 10) / 2;
    const float middle =
        std::clamp(x, v.plot.x + half, std::max(v.plot.x + half, v.plot.right() - half));
    const bool free = std::none_of(covered.begin(), covered.end(), [&](const Rect& tag) {
      return tag.width > 0 && middle + half > tag.x && middle - half < tag.right();
    });
    if (free)
      write(drawing, tick.label, {middle, area.y + 8}, 10, Weight::Medium, Ink::Text2,
            Align::Center);
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
  for (const TimeMark& mark : state.marks) {
    if (mark.to < v.from || mark.from > v.to) continue;
    const float left = x_in(v, mark.from), right = x_in(v, mark.to);
    fill(drawing, {left, area.y, right - left, area.height}, {.ink = Ink::Warn, .alpha = 0.05f});
    for (const float x : {left, right})
      line(drawing, {x, area.y}, {x, area.bottom()}, {.ink = Ink::Warn, .alpha = 0.7f});
  }
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

void draw_step_gap(Drawing& drawing, const Rect& rows, const Viewport& v, Instant end,
                   Instant other, float tag_y, const std::string& other_name) {
  if (end >= other || other <= v.from || end >= v.to) return;
  const Extent gap = extent(v, std::max(end, v.from), other);
  const ClipScope clip(drawing, {v.plot.x, rows.y, v.plot.width, rows.height});
  fill(drawing, {gap.left, rows.y, gap.width(), rows.height},
       {.ink = Ink::OkBackground, .alpha = 0.6f});
  line(drawing, {gap.left, rows.y}, {gap.left, rows.bottom()}, {.ink = Ink::Text});
  line(drawing, {gap.right, rows.y}, {gap.right, rows.bottom()},
       {.ink = Ink::Ok, .dash_on = 3, .dash_off = 3});
  const std::string less = "\u2212" + format_step_time(other - end),
                    share =
                        ", \u2212" + format_percent(to_seconds(other - end) / to_seconds(other));
  for (const std::string& words : {less + share + " against " + other_name, less + share, less})
    if (const float width = tag_width(words); width + 8 < gap.width()) {
      draw_tag(drawing, words, {gap.left + (gap.width() - width) / 2, tag_y}, 16,
               Ink::TipBackground, Ink::Ok);
      return;
    }
}

void draw_time_tags(Drawing& drawing, const Rect& ruler, const Viewport& v, const ViewState& state,
                    Instant end) {
  for (std::size_t i = 0; i < state.marks.size(); ++i)
    if (state.marks[i].to >= v.from && state.marks[i].from <= v.to)
      draw_flag(drawing, ruler, v, state.marks[i], mark_tag(i));
  const Rect tag = cursor_tag(ruler, v, state, end);
  if (state.range) draw_range_bar(drawing, range_bar(ruler, v, state), tag, *state.range, end);
  if (tag.width > 0)
    draw_tag(drawing, instant_text(*state.cursor, end), {tag.x, tag.y + tag.height / 2}, tag.height,
             Ink::Cursor, Ink::Canvas);
}

Hover describe_mark(const ViewState& state, Item item, Instant end) {
  if (item.kind != ItemKind::Other || item.tag < kMarkTag) return {};
  const std::uint64_t index = item.tag - kMarkTag;
  if (index >= state.marks.size()) return {};
  const TimeMark& mark = state.marks[index];
  const bool moment = mark.to <= mark.from;
  return {mark.name.empty() ? "Mark" : mark.name,
          moment ? "moment" : "range",
          moment ? instant_text(mark.from, end) : format_duration(mark.to - mark.from),
          {moment ? "kept with the plan"
                  : instant_text(mark.from, end) + " to " + instant_text(mark.to, end)}};
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

void write_within(Drawing& drawing, std::string_view words, Point at, float room, float size,
                  Weight weight, Ink ink, Align align) {
  write(drawing, fit_text(words, room, size, weight), at, size, weight, ink, align);
}

void frame_selected(Drawing& drawing, const Rect& rect, float gap) {
  outline(drawing, {rect.x - gap, rect.y - gap, rect.width + 2 * gap, rect.height + 2 * gap},
          {.ink = Ink::Select, .stroke = 2});
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
