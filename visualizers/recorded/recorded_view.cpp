#include "visualizers/recorded/recorded_view.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "visualizers/drawing/text_metrics.h"
#include "visualizers/viewmodel/folding.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kRecordedHead = 26, kStrip = 44;
constexpr float kStreamRow = 18, kHostRow = 13, kCurve = 34;
constexpr float kLaneGap = 4, kProcessHead = 18;
constexpr std::uint32_t kHostRows = 8;  // how many rows of one thread of the host are drawn
constexpr std::size_t kOverviewRows = 12;
constexpr float kLeastBox = 1.2f;
constexpr float kLabelRoom = 6;

bool on_stream(const RecordedModel& m, const RecordedLane& lane) {
  return !lane.counter && m.trace.threads[lane.thread].device;
}

std::uint32_t drawn_rows(const RecordedModel& m, const RecordedLane& lane) {
  return on_stream(m, lane) ? lane.rows : std::min(lane.rows, kHostRows);
}

float row_height(const RecordedModel& m, const RecordedLane& lane) {
  return on_stream(m, lane) ? kStreamRow : kHostRow;
}

float lane_height(const RecordedModel& m, const RecordedLane& lane) {
  const float head = lane.heads ? kProcessHead : 0;
  if (lane.counter) return head + kCurve + kLaneGap;
  return head + row_height(m, lane) * static_cast<float>(drawn_rows(m, lane)) + kLaneGap;
}

Ink ink_at(std::uint8_t category) { return ink_of(static_cast<RecordedKind>(category)); }

// Counters of our own traces have the ink of their category, and all others have one ink.
Ink counter_ink(const RecordedCounter& counter) {
  constexpr std::pair<std::string_view, Ink> kInksOf[] = {
      {"framework", Ink::MemoryContext},     {"weights", Ink::MemoryWeights},
      {"optimizer", Ink::MemoryOptimizer},   {"gradients", Ink::MemoryGradients},
      {"communication", Ink::Communication}, {"workspace", Ink::MemoryContext},
      {"reserved", Ink::MemoryContext}};
  for (const auto& [word, ink] : kInksOf)
    if (counter.name.find(word) != std::string::npos) return ink;
  return Ink::MemoryActivations;
}

struct Painter {
  Drawing& drawing;
  const RecordedModel& m;
  const Viewport& v;
  const ViewState& state;
  const RecordedMarks& marks;
  FoldStep step;
  std::vector<Fold> folds = {};

  float width_of(const Extent& e) const {
    return std::max(kLeastBox, e.width() - (e.width() > 3 ? 1.f : 0.f));
  }

  // Draws the folds and spans of a row. Labels come after all tiles, so that these form one strip.
  void row(std::uint32_t row, float top, float height) {
    folds.clear();
    fold_row(m.spans, row, v.from, v.to, step, folds);
    const std::size_t first = drawing.tiles.size();
    for (const Fold& f : folds) put(row, f, top, height);
    strip(drawing, first, {v.plot.x - kBeyondPlot, top, v.plot.width + 3 * kBeyondPlot, height});
    for (const Fold& f : folds)
      if (f.count == 1) label(row, f, top, height);
    find(row, top, height);
  }

  void put(std::uint32_t row, const Fold& f, float top, float height) {
    const Extent e = extent(v, f.start, f.end);
    const auto tag = static_cast<std::uint32_t>(m.spans.rows[row].first + f.first);
    if (f.count == 1) {
      drawing.tiles.push_back({{e.left, top, width_of(e), height - 1},
                               tag,
                               ItemKind::Span,
                               ink_at(f.category),
                               Tile::Kind::Box});
      return;
    }
    // A fold is as high as its share of busy time, in the ink of its longest category.
    const int busy = std::accumulate(f.share.begin(), f.share.end(), 0);
    const float h = std::max(2.f, (height - 1) * std::min(1.f, static_cast<float>(busy) / 255));
    drawing.tiles.push_back({{e.left, top + height - 1 - h, std::max(1.f, e.width()), h},
                             tag,
                             ItemKind::Fold,
                             ink_at(f.category),
                             Tile::Kind::Fill});
  }

  void label(std::uint32_t row, const Fold& f, float top, float height) {
    const Extent e = extent(v, f.start, f.end);
    if (e.width() < 18) return;
    const Rect seen = intersect({e.left, top, width_of(e), height - 1}, v.plot);
    const float size = std::min(10.f, height - 4);
    const std::string& name = m.trace.names[span_at(m.spans, row, f.first).name];
    std::string words = fit_text(name, seen.width - kLabelRoom, size);
    if (words.size() < 4 && words != name) return;
    const Ink ink = ink_at(f.category);
    write(drawing, std::move(words), {seen.x + 3, top + (height - 1) / 2}, size, Weight::Medium,
          ink == Ink::Raised ? Ink::Text : label_ink(ink));
  }

  // Frames what the search finds.
  void find(std::uint32_t row, float top, float height) {
    if (!marks.search) return;
    for (const Fold& f : folds) {
      bool any = false;
      for (std::uint32_t i = f.first; i < f.first + std::min(f.count, 64u) && !any; ++i)
        any = marks.search->finds(row, i);
      if (!any) continue;
      const Extent e = extent(v, f.start, f.end);
      outline(drawing, {e.left - 1, top - 1, width_of(e) + 2, height + 1},
              {.ink = Ink::Select, .stroke = 1.5f});
    }
  }

  void curve(std::uint32_t counter, const Rect& area) {
    const StepCurve& c = m.curves[counter];
    const auto count = static_cast<int>(std::max(1.f, v.plot.width));
    std::vector<ValueRange> ranges;
    ranges_of(c, v.from, v.to, count, ranges);
    const double most = std::max(1.0, static_cast<double>(c.value[c.peak]));
    std::vector<Column> filled;
    for (const ValueRange& r : ranges) {
      const auto h = static_cast<float>(std::clamp(static_cast<double>(r.high) / most, 0.0, 1.0)) *
                     (area.height - 2);
      filled.push_back({area.bottom() - h, area.bottom()});
    }
    columns(drawing, {v.plot.x, area.y, v.plot.width, area.height}, filled,
            {.ink = counter_ink(m.trace.counters[counter]), .item = {ItemKind::Wave, counter}});
    const Extent at = extent(v, Instant{c.at[c.peak]}, Instant{c.at[c.peak]});
    if (at.left >= v.plot.x && at.left <= v.plot.right())
      peak_marker(drawing, {at.left, area.y + 2},
                  {.ink = Ink::Text, .item = {ItemKind::Peak, counter}});
  }
};

std::string value_text(const RecordedCounter& counter, double value) {
  if (counter.bytes)
    return format_bytes(Bytes{static_cast<std::int64_t>(std::clamp(value, -9e18, 9e18))});
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.4g", value);
  return digits;
}

void draw_recorded_head(Drawing& drawing, const Rect& area, const RecordedModel& m,
                        const RecordedMarks& marks) {
  const float y = area.y + area.height / 2;
  std::string left = m.trace.device;
  const auto part = [&](const std::string& words) {
    left += (left.empty() ? "" : "  ·  ") + words;
  };
  if (m.trace.ranks > 0) part(std::to_string(m.trace.ranks) + " ranks");
  part(format_count(static_cast<std::int64_t>(m.spans.start.size())) + " spans in " +
       format_duration(m.end - m.begin));
  if (m.trace.part)
    part("from " + instant_text(m.begin, m.end) + ", of " + format_duration(m.trace.part->whole));
  std::string right;
  if (m.step > Duration{}) {
    right = "measured " + format_step_time(m.step) + " per step";
    if (marks.predicted_step > Duration{})
      right += ", predicted " + format_step_time(marks.predicted_step) + " (measured is " +
               format_signed(100 * (to_seconds(m.step) / to_seconds(marks.predicted_step) - 1), 1) +
               " % of it)";
  } else {
    right = "no steps are marked in it";
  }
  const float room = text_width(right, 11);
  write(drawing, right, {area.right() - kPlotMargin, y}, 11, Weight::Medium, Ink::Text2,
        Align::Right);
  write_within(drawing, left, {area.x + 10, y}, area.width - room - 36, 12, Weight::SemiBold,
               Ink::Text);
}

void draw_overview(Drawing& drawing, const RecordedLayout& l, const RecordedModel& m,
                   const ViewState& state) {
  const Rect& area = l.overview;
  write(drawing, "Recording", {area.x + 10, area.y + 14}, 11, Weight::SemiBold, Ink::Text);
  write(drawing, format_step_time(m.end - m.begin), {area.x + 10, area.y + 28}, 10, Weight::Regular,
        Ink::Text3);
  const std::size_t rows = std::min(m.busy_rows.size(), kOverviewRows);
  const float height = rows == 0 ? 0 : std::min(6.f, (area.height - 8) / static_cast<float>(rows));
  const float top = area.y + (area.height - height * static_cast<float>(rows)) / 2;
  const Rect all{l.whole.plot.x, top, l.whole.plot.width, height * static_cast<float>(rows)};
  {
    const ClipScope clip(drawing, all);
    const FoldStep step = fold_step(l.whole, state.scale);
    std::vector<Fold> folds;
    const std::size_t first = drawing.tiles.size();
    for (std::size_t i = 0; i < rows; ++i) {
      folds.clear();
      fold_row(m.spans, m.busy_rows[i * m.busy_rows.size() / rows], l.whole.from, l.whole.to, step,
               folds);
      for (const Fold& f : folds) {
        const Extent e = extent(l.whole, f.start, f.end);
        drawing.tiles.push_back(
            {{e.left, top + height * static_cast<float>(i), std::max(1.f, e.width()), height},
             0,
             ItemKind::None,
             ink_at(f.category),
             Tile::Kind::Fill});
      }
    }
    strip(drawing, first, all);
  }
  const Extent e = extent(l.whole, l.shown.from, l.shown.to);
  const float left = std::clamp(e.left, all.x, all.right());
  const float right = std::clamp(e.right, left, all.right());
  fill(drawing, {all.x, all.y, left - all.x, all.height}, {.ink = Ink::Canvas, .alpha = 0.6f});
  fill(drawing, {right, all.y, all.right() - right, all.height},
       {.ink = Ink::Canvas, .alpha = 0.6f});
  outline(drawing, {left - 1, all.y - 3, right - left + 2, all.height + 6},
          {.ink = Ink::Text, .stroke = 1.5f});
  line(drawing, {area.x, area.bottom() - 0.5f}, {area.right(), area.bottom() - 0.5f},
       {.ink = Ink::Border});
}

// Draws a line where each step of the first process that marks steps begins and ends.
void draw_steps(Drawing& drawing, const RecordedLayout& l, const RecordedModel& m) {
  const Rect& area = l.lanes;
  const ClipScope clip(drawing, {l.shown.plot.x, area.y, l.shown.plot.width, area.height});
  for (std::size_t i = 0; i < m.trace.steps.size(); ++i) {
    const RecordedStep& step = m.trace.steps[i];
    if (step.process != m.trace.steps.front().process) break;
    const Extent e = extent(l.shown, step.from, step.to);
    if (e.right < l.shown.plot.x || e.left > l.shown.plot.right()) continue;
    for (const float x : {e.left, e.right})
      line(drawing, {x, area.y}, {x, area.bottom()},
           {.ink = Ink::Accent, .alpha = 0.7f, .dash_on = 3, .dash_off = 3});
    const std::string words = "step " + std::to_string(step.number);
    if (text_width(words, 10) + 8 < e.width())
      write(drawing, words, {std::max(e.left, l.shown.plot.x) + 4, area.y + 7}, 10, Weight::Medium,
            Ink::Accent);
  }
}

void draw_recorded_name(Drawing& drawing, const RecordedModel& m, std::size_t number, Rect at) {
  const RecordedLane& lane = m.lanes[number];
  fill(drawing, {at.x, at.y, kGutter, at.height},
       {.ink = Ink::Canvas, .item = {ItemKind::Lane, number}});
  float y = at.y;
  if (lane.heads) {
    const RecordedProcess& process = m.trace.processes[lane.process];
    std::string name = process.name;
    if (process.rank >= 0 && name.find("rank") == std::string::npos)
      name = "rank " + std::to_string(process.rank) + "  " + name;
    write_within(drawing, name, {at.x + 10, y + kProcessHead / 2}, kGutter - 16, 11,
                 Weight::SemiBold, Ink::Text);
    y += kProcessHead;
  }
  const float height = lane.counter ? kCurve / 2 : row_height(m, lane);
  write(drawing, fit_text(lane.name, kGutter - 20, 10), {at.x + 14, y + height / 2}, 10,
        Weight::Regular, Ink::Text2);
  if (lane.counter) {
    const RecordedCounter& counter = m.trace.counters[*lane.counter];
    const StepCurve& curve = m.curves[*lane.counter];
    write(drawing, "peak " + value_text(counter, counter.value[curve.peak]),
          {at.x + 14, y + kCurve * 0.75f}, 10, Weight::Medium, Ink::Text3);
  }
}

void draw_recorded_lanes(Drawing& drawing, const RecordedLayout& l, const RecordedModel& m,
                         const ViewState& state, const RecordedMarks& marks) {
  const ClipScope clip(drawing, l.lanes);
  draw_grid(drawing, l.lanes, l.shown);
  Painter painter{drawing, m, l.shown, state, marks, fold_step(l.shown, state.scale)};
  float y = l.lanes.y + kLaneGap - l.shown.scroll;
  for (std::size_t i = 0; i < m.lanes.size() && y < l.lanes.bottom(); ++i) {
    const RecordedLane& lane = m.lanes[i];
    const float height = lane_height(m, lane);
    const float next = y + height;
    if (next >= l.lanes.y) {
      draw_recorded_name(drawing, m, i, {l.lanes.x, y, l.lanes.width, height});
      if (lane.heads && i > 0)
        line(drawing, {l.lanes.x, y - 1}, {l.lanes.right(), y - 1}, {.ink = Ink::Grid});
      const float top = y + (lane.heads ? kProcessHead : 0);
      const ClipScope plot(drawing,
                           {l.shown.plot.x, l.lanes.y, l.shown.plot.width, l.lanes.height});
      if (lane.counter)
        painter.curve(*lane.counter, {l.shown.plot.x, top, l.shown.plot.width, kCurve});
      for (std::uint32_t r = 0; r < drawn_rows(m, lane); ++r)
        painter.row(lane.first + r, top + row_height(m, lane) * static_cast<float>(r),
                    row_height(m, lane));
    }
    y = next;
  }
}

void draw_selected(Drawing& drawing, const RecordedLayout& l, const RecordedModel& m,
                   Item selected) {
  if (selected.kind != ItemKind::Span || selected.tag >= m.spans.start.size()) return;
  const RecordedPlace place = recorded_place(m, selected.tag);
  for (std::size_t i = 0; i < m.lanes.size(); ++i) {
    const RecordedLane& lane = m.lanes[i];
    if (lane.counter || place.row < lane.first || place.row >= lane.first + drawn_rows(m, lane))
      continue;
    const RowSpan span = span_at(m.spans, place.row, place.index);
    const Extent e = extent(l.shown, span.start, span.end);
    const float top = recorded_lane_top(m, l, i) + (lane.heads ? kProcessHead : 0) +
                      row_height(m, lane) * static_cast<float>(place.row - lane.first);
    const ClipScope clip(drawing,
                         {l.shown.plot.x - 3, l.lanes.y, l.shown.plot.width + 6, l.lanes.height});
    outline(drawing,
            {e.left - 2, top - 2, std::max(kLeastBox, e.width()) + 4, row_height(m, lane) + 3},
            {.ink = Ink::Select, .stroke = 2});
  }
}

std::string lane_where(const RecordedModel& m, const RecordedThread& thread) {
  return m.trace.processes[thread.process].name + ", " + thread.name;
}

Hover span_hover(const RecordedModel& m, std::uint64_t number) {
  const RecordedPlace place = recorded_place(m, number);
  const RowSpan span = span_at(m.spans, place.row, place.index);
  Hover hover;
  hover.title = m.trace.names[span.name];
  hover.where = lane_where(m, m.trace.threads[m.trace.rows[place.row].thread]);
  hover.value = format_duration(span.end - span.start);
  hover.lines.push_back(std::string(to_string(static_cast<RecordedKind>(span.category))) +
                        ", measured");
  hover.lines.push_back("from " + instant_text(span.start, m.end) + " to " +
                        instant_text(span.end, m.end));
  if (m.step > Duration{})
    hover.lines.push_back(format_percent(to_seconds(span.end - span.start) / to_seconds(m.step)) +
                          " of a step");
  return hover;
}

Hover fold_hover(const RecordedModel& m, const RecordedLayout& l, const ViewState& state,
                 std::uint64_t number) {
  const RecordedPlace place = recorded_place(m, number);
  std::vector<Fold> folds;
  fold_row(m.spans, place.row, l.shown.from, l.shown.to, fold_step(l.shown, state.scale), folds);
  Hover hover;
  for (const Fold& f : folds) {
    if (f.first != place.index) continue;
    const BusyTimes busy = busy_times(m.spans, place.row, f.first, f.first + f.count);
    const std::int64_t sum = std::accumulate(busy.begin(), busy.end(), std::int64_t{0});
    hover.title = format_count(f.count) + " spans";
    hover.where = lane_where(m, m.trace.threads[m.trace.rows[place.row].thread]);
    hover.value = format_duration(Duration{sum}) + " busy";
    if (sum > 0)
      hover.lines.push_back(
          "mostly " + std::string(to_string(static_cast<RecordedKind>(f.category))) + ", " +
          format_percent(static_cast<double>(busy[f.category]) / static_cast<double>(sum)));
    const std::uint32_t longest = longest_of(m.spans, place.row, f.first, f.first + f.count);
    const RowSpan span = span_at(m.spans, place.row, longest);
    hover.lines.push_back("longest " + m.trace.names[span.name] + ", " +
                          format_duration(span.end - span.start));
  }
  return hover;
}

}  // namespace

RecordedLayout recorded_layout(const RecordedModel& m, const Rect& area, const ViewState& state) {
  RecordedLayout l;
  l.header = {area.x, area.y, area.width, kRecordedHead};
  l.overview = {area.x, l.header.bottom(), area.width, kStrip};
  l.ruler = {area.x, l.overview.bottom(), area.width, kRuler};
  l.lanes = {area.x, l.ruler.bottom(), area.width, std::max(0.f, area.bottom() - l.ruler.bottom())};
  ViewState all;
  all.shown = TimeRange{m.begin, m.end};
  l.whole = viewport_of(l.overview, all, m.end);
  ViewState now = state;
  if (!now.shown) now.shown = all.shown;
  l.shown = viewport_of(l.lanes, now, m.end);
  return l;
}

float recorded_height(const RecordedModel& m) {
  float height = kLaneGap;
  for (const RecordedLane& lane : m.lanes) height += lane_height(m, lane);
  return height;
}

float recorded_lane_top(const RecordedModel& m, const RecordedLayout& l, std::size_t lane) {
  float y = l.lanes.y + kLaneGap - l.shown.scroll;
  for (std::size_t i = 0; i < lane; ++i) y += lane_height(m, m.lanes[i]);
  return y;
}

void draw_recorded(Drawing& drawing, const Rect& area, const RecordedModel& m,
                   const ViewState& state, const RecordedMarks& marks) {
  const ClipScope clip(drawing, area);
  const RecordedLayout l = recorded_layout(m, area, state);
  draw_recorded_head(drawing, l.header, m, marks);
  draw_overview(drawing, l, m, state);
  draw_ruler(drawing, l.ruler, l.shown, state, m.end);
  draw_recorded_lanes(drawing, l, m, state, marks);
  draw_steps(drawing, l, m);
  draw_selected(drawing, l, m, state.selected);
  draw_time_marks(drawing, l.lanes, l.shown, state);
  draw_time_tags(drawing, l.ruler, l.shown, state, m.end);
}

Hover describe_recorded(const RecordedModel& m, const Rect& area, const ViewState& state, Item item,
                        Point at) {
  const RecordedLayout l = recorded_layout(m, area, state);
  if (item.kind == ItemKind::Span && item.tag < m.spans.start.size())
    return span_hover(m, item.tag);
  if (item.kind == ItemKind::Fold && item.tag < m.spans.start.size())
    return fold_hover(m, l, state, item.tag);
  Hover hover;
  if (item.kind == ItemKind::Lane && item.tag < m.lanes.size()) {
    const RecordedLane& lane = m.lanes[item.tag];
    hover.title = lane.name;
    hover.where = m.trace.processes[lane.process].name;
    std::uint64_t spans = 0;
    for (std::uint32_t r = 0; r < lane.rows; ++r) spans += m.spans.rows[lane.first + r].count;
    if (!lane.counter) hover.value = format_count(static_cast<std::int64_t>(spans)) + " spans";
    if (lane.rows > drawn_rows(m, lane))
      hover.lines.push_back("the outermost " + std::to_string(drawn_rows(m, lane)) + " of " +
                            std::to_string(lane.rows) + " depths are drawn");
  } else if ((item.kind == ItemKind::Wave || item.kind == ItemKind::Peak) &&
             item.tag < m.curves.size()) {
    const RecordedCounter& counter = m.trace.counters[item.tag];
    const StepCurve& curve = m.curves[item.tag];
    const Instant when = time_at(l.shown, at.x);
    hover.title = counter.name;
    hover.where = m.trace.processes[counter.process].name + ", " + instant_text(when, m.end);
    hover.value = value_text(counter, static_cast<double>(value_at(curve, when)));
    hover.lines.push_back("peak " + value_text(counter, counter.value[curve.peak]) + " at " +
                          instant_text(Instant{curve.at[curve.peak]}, m.end));
  }
  return hover;
}

Drawing recorded_picture(const RecordedModel& m, std::optional<TimeRange> shown) {
  const float head = kRecordedHead + kStrip + kRuler;
  Drawing drawing({1440, std::clamp(head + recorded_height(m) + 8, 240.f, 2400.f)});
  ViewState state;
  state.shown = shown;
  state.scale = 2;
  draw_recorded(drawing, {0, 0, drawing.size.width, drawing.size.height}, m, state);
  return drawing;
}

}  // namespace trainyard
