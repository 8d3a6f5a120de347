#include "visualizers/compare/comparison_view.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/result/figures.h"
#include "core/timeline/metrics.h"
#include "visualizers/chart/legend.h"
#include "visualizers/chart/section_bar.h"
#include "visualizers/time/lane_painter.h"
#include "visualizers/time/memory_wave.h"
#include "visualizers/timeline/timeline_view.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kSideBar = 24, kBetweenParts = 6, kTallestLane = 24, kLeastMemory = 90,
                kMemoryShare = 0.3f;

const Experiment& experiment_of(const ComparisonSide& side) { return *side.timeline.experiment; }

ComparisonSide side_of(ExperimentPtr experiment, std::string title) {
  ComparisonSide side;
  side.title = std::move(title);
  const StepWindow window = step_window(experiment->timeline, experiment->program);
  side.step = {window.from, window.to};
  for (const Breakdown& parts : rank_breakdowns(*experiment))
    side.bubble.push_back(share(parts, parts.bubble));
  side.timeline = timeline_model(experiment);
  side.memory = memory_model(std::move(experiment));
  return side;
}

Instant end_of_side(const ComparisonModel& model, const ComparisonSide& side, bool linked) {
  return linked ? model.end : std::max(side.step.length(), Duration{1});
}

const ViewState& state_of(const ComparisonState& state, bool of_b) {
  return of_b && !state.linked ? state.b : state.a;
}

float pitch_of(const ComparisonSide& side, const Rect& lanes) {
  const auto count = static_cast<float>(std::max<std::size_t>(1, side.timeline.ranks.size()));
  return std::min(kTallestLane, lanes.height / count);
}

void draw_side_bar(Drawing& drawing, const Rect& bar, const char* letter,
                   const ComparisonSide& side) {
  const ClipScope clip(drawing, bar);
  fill(drawing, bar, {.ink = Ink::Header});
  const float y = bar.y + bar.height / 2;
  const Rect box{bar.x + 10, y - 7, 14, 14};
  fill(drawing, box, {.ink = Ink::Text});
  write(drawing, letter, {box.x + 7, y}, 10, Weight::SemiBold, Ink::Canvas, Align::Center);
  const Result& r = experiment_of(side).result;
  // The waits for allocator and input are not in the lanes, so they are added here.
  const Duration step = side.step.length() + r.breakdown.allocator + r.breakdown.input;
  const std::string figures = "step " + format_step_time(step) + "    bubble " +
                              format_percent(r.bubble_fraction) + "    MFU " +
                              format_percent(r.mfu);
  const float left = bar.x + 32, right = end_section_bar(drawing, bar, figures);
  write_within(drawing, side.title, {left, y}, right - left - 14, 11, Weight::SemiBold, Ink::Text);
}

void draw_lane_name(Drawing& drawing, const ComparisonSide& side, std::size_t rank, const Rect& row,
                    bool selected) {
  const RankLanes& lanes = side.timeline.ranks[rank];
  const Rect gutter{row.x, row.y, kGutter, row.height};
  if (selected) fill(drawing, gutter, {.ink = Ink::AccentBackground});
  fill(drawing, gutter,
       {.ink = Ink::Canvas, .alpha = 0, .item = {ItemKind::Lane, lanes.device.value}});
  if (row.height < 10) return;
  const float size = row.height < 14 ? 9.f : 11.f, y = row.y + row.height / 2;
  write(drawing, lanes.name, {row.x + 10, y}, size, Weight::Medium, Ink::Text);
  write(drawing, format_percent(side.bubble[rank]) + " bubble", {row.x + kGutter - 8, y},
        std::min(size, 10.f), Weight::Regular, Ink::Text2, Align::Right);
}

void draw_lane(LanePainter& painter, const RankLanes& rank, const Rect& row) {
  const bool comm = row.height >= 18 && !rank.comm.empty();
  const float lane = row.height - (row.height > 6 ? 2.f : 0.f) - (comm ? 4.f : 0.f);
  const auto count = static_cast<float>(std::max<std::size_t>(1, rank.compute.size()));
  for (std::size_t i = 0; i < rank.compute.size(); ++i) {
    const float top = row.y + 1 + lane * static_cast<float>(i) / count, height = lane / count;
    if (height < 5)
      painter.overview(rank.compute[i], top, height);
    else
      painter.compute(rank.compute[i], top, height, rank.device);
  }
  if (comm)
    for (const std::uint32_t lane_row : rank.comm) painter.comm(lane_row, row.y + 1 + lane, 4);
}

void draw_side_lanes(Drawing& drawing, const Rect& rows, const ComparisonModel& model, bool of_b,
                     const ComparisonState& state) {
  if (rows.height <= 0) return;
  const ComparisonSide& side = of_b ? model.b : model.a;
  const ComparisonSide& other = of_b ? model.a : model.b;
  const ViewState& shared = state_of(state, of_b);
  const Instant end = end_of_side(model, side, state.linked);
  const Viewport v = viewport_of(rows, shared, end);
  const ClipScope clip(drawing, rows);
  draw_grid(drawing, rows, v);
  const float pitch = pitch_of(side, rows);
  {
    // After the end of the run nothing is drawn, neither idle time nor memory.
    const Extent run = extent(v, v.from, std::max(v.from, side.step.length()));
    const ClipScope within(drawing, {v.plot.x, rows.y, run.right - v.plot.x, rows.height});
    const Viewport own = viewport_of(rows, state_in_run(shared, side.step, end), end);
    LanePainter painter(drawing, side.timeline, own, shared.scale);
    for (std::size_t i = 0; i < side.timeline.ranks.size(); ++i)
      draw_lane(painter, side.timeline.ranks[i],
                {v.plot.x, rows.y + pitch * static_cast<float>(i), v.plot.width, pitch});
  }
  for (std::size_t i = 0; i < side.timeline.ranks.size(); ++i)
    draw_lane_name(drawing, side, i,
                   {rows.x, rows.y + pitch * static_cast<float>(i), rows.width, pitch},
                   i == shown_rank(model, state));
  if (state.linked)
    draw_step_gap(drawing, rows, v, side.step.length(), other.step.length(),
                  rows.y + rows.height / 2 - 2, of_b ? "A" : "B");
}

struct Reading {
  const ComparisonSide& side;
  DeviceId device;
  const StepCurve& curve() const { return side.memory.totals[device.value]; }
  std::int64_t at(Instant since_step) const {
    return value_at(curve(), since_step + side.step.from);
  }
};

Reading reading_of(const ComparisonSide& side, std::uint32_t rank) {
  const auto last = static_cast<std::uint32_t>(side.memory.totals.size()) - 1;
  return {side, DeviceId{std::min(rank, last)}};
}

// Draws the highest value within each pixel as a dashed line that ends with the step.
void draw_dashed(Drawing& drawing, const Rect& plot, const ByteScale& scale, const Viewport& v,
                 const Reading& reading) {
  const int count = std::max(1, static_cast<int>(plot.width));
  const Duration pixel{std::max<std::int64_t>(1, (v.to - v.from).count() / count)};
  std::vector<Point> points;
  float before = -1;
  for (int i = 0; i < count; ++i) {
    const Instant from = v.from + pixel * i;
    if (from >= reading.side.step.length()) break;
    const Instant in_run = from + reading.side.step.from;
    const float y = scale.y(range_of(reading.curve(), in_run, in_run + pixel).high);
    const float x = plot.x + static_cast<float>(i);
    if (y == before && points.size() > 1) {
      points.back().x = x + 1;
      continue;
    }
    points.push_back({x, y});
    points.push_back({x + 1, y});
    before = y;
  }
  if (points.size() > 1)
    polyline(drawing, points, {.ink = Ink::Text, .stroke = 1.5f, .dash_on = 4, .dash_off = 3});
}

void draw_peak(Drawing& drawing, const Rect& plot, const ByteScale& scale, const Viewport& v,
               const Reading& reading, const char* letter, std::uint64_t tag) {
  const Instant at = peak_at(reading.curve()) - reading.side.step.from;
  if (at < v.from || at >= v.to) return;
  const std::int64_t bytes = peak_bytes(reading.curve());
  const Point tip{cut_x(v, at), std::max(plot.y + 8, scale.y(bytes))};
  peak_marker(drawing, tip, {.ink = Ink::Text, .item = {ItemKind::Peak, tag}});
  const std::string words = std::string(letter) + " peak " + format_bytes({bytes}) + " at " +
                            instant_text(at, reading.side.step.length());
  const float x = std::clamp(tip.x + 8, plot.x, plot.right() - tag_width(words) - 2);
  draw_tag(drawing, words, {x, std::clamp(tip.y - 8, plot.y + 9, plot.bottom() - 9)}, 16,
           Ink::TipBackground, Ink::Text);
}

void draw_memory_part(Drawing& drawing, const ComparisonLayout& layout,
                      const ComparisonModel& model, const ComparisonState& state) {
  const Rect& area = layout.memory;
  if (area.height <= 0) return;
  const std::uint32_t rank = shown_rank(model, state);
  const Reading a = reading_of(model.a, rank), b = reading_of(model.b, rank);
  const Rect& bar = layout.memory_bar;
  const float left = draw_section_bar(drawing, bar,
                                      "Memory, " + model.b.timeline.ranks[b.device.value].name),
              right = end_section_bar(drawing, bar, "click a stage to see its memory", Ink::Text3);
  draw_legend_after(
      drawing, {left + 8, bar.y + bar.height / 2}, right,
      {{"A", line_sign({.ink = Ink::Text, .stroke = 1.5f, .dash_on = 4, .dash_off = 3})},
       {"B", line_sign({.ink = Ink::WeightGradient, .stroke = 2})}});
  const Instant end = end_of_side(model, model.b, state.linked);
  const Viewport v = viewport_of(area, state_of(state, true), end);
  const Rect plot{v.plot.x, area.y + 2, v.plot.width, area.height - 4};
  const ByteScale scale = scale_of(plot, model.highest, 14);
  draw_bytes_axis(drawing, plot, scale, 0, static_cast<double>(model.highest));
  draw_grid(drawing, plot, v);
  const ClipScope clip(drawing, plot);
  {
    const Extent run = extent(v, v.from, std::max(v.from, model.b.step.length()));
    const ClipScope within(drawing, {plot.x, plot.y, run.right - plot.x, plot.height});
    const Viewport own =
        viewport_of(area, state_in_run(state_of(state, true), model.b.step, end), end);
    WavePainter painter(drawing, model.b.memory, b.device, own, state.a.scale);
    painter.summary(plot, scale);
    painter.top_line(plot, scale, 1.5f, Ink::WeightGradient);
    painter.overflow(plot, scale, experiment_of(model.b).result.capacity.value);
  }
  const Viewport av =
      viewport_of(area, state_of(state, false), end_of_side(model, model.a, state.linked));
  draw_dashed(drawing, plot, scale, av, a);
  const Bytes capacity = experiment_of(model.b).result.capacity;
  const float limit = scale.y(capacity.value);
  line(drawing, {plot.x, limit}, {plot.right(), limit},
       {.ink = Ink::Text2, .dash_on = 6, .dash_off = 3, .item = {ItemKind::Capacity, 0}});
  write(drawing, "capacity " + format_bytes(capacity), {plot.right() - 4, limit - 7}, 10,
        Weight::Medium, Ink::Text2, Align::Right);
  draw_peak(drawing, plot, scale, av, a, "A", 0);
  draw_peak(drawing, plot, scale, v, b, "B", 1);
}

// Draws a row for each rank that shows how much more (up) or less (down) B holds than A.
void draw_delta_rows(Drawing& drawing, const Rect& rows, const ComparisonModel& model,
                     const ComparisonState& state) {
  const ClipScope clip(drawing, rows);
  const Viewport v = viewport_of(rows, state.a, model.end);
  draw_grid(drawing, rows, v);
  const std::size_t ranks = std::max(model.a.timeline.ranks.size(), model.b.timeline.ranks.size());
  const float pitch =
      std::min(46.f, rows.height / static_cast<float>(std::max<std::size_t>(1, ranks)));
  const int count = std::max(1, static_cast<int>(v.plot.width));
  const Duration pixel{std::max<std::int64_t>(1, (v.to - v.from).count() / count)};
  std::vector<std::vector<std::int64_t>> change(ranks);
  std::int64_t most = 1;
  for (std::size_t r = 0; r < ranks; ++r) {
    const Reading a = reading_of(model.a, static_cast<std::uint32_t>(r)),
                  b = reading_of(model.b, static_cast<std::uint32_t>(r));
    for (int i = 0; i < count; ++i) {
      const Instant at = v.from + pixel * i;
      const bool over = at >= model.a.step.length() || at >= model.b.step.length();
      change[r].push_back(over ? 0 : b.at(at) - a.at(at));
      most = std::max(most, std::abs(change[r].back()));
    }
  }
  for (std::size_t r = 0; r < ranks; ++r) {
    const Rect row{v.plot.x, rows.y + pitch * static_cast<float>(r), v.plot.width, pitch - 2};
    const float zero = row.y + row.height / 2;
    std::vector<Column> more, less;
    std::int64_t largest = 0;
    for (const std::int64_t bytes : change[r]) {
      const float height =
          row.height / 2 *
          static_cast<float>(static_cast<double>(bytes) / static_cast<double>(most));
      more.push_back(bytes > 0 ? Column{zero - height, zero} : Column{});
      less.push_back(bytes < 0 ? Column{zero, zero - height} : Column{});
      if (std::abs(bytes) > std::abs(largest)) largest = bytes;
    }
    const Item item{ItemKind::Lane, r};
    columns(drawing, row, more, {.ink = Ink::Swap, .item = item});
    columns(drawing, row, less, {.ink = Ink::Forward, .item = item});
    line(drawing, {row.x, zero}, {row.right(), zero}, {.ink = Ink::Axis});
    const ComparisonSide& named = r < model.b.timeline.ranks.size() ? model.b : model.a;
    fill(drawing, {rows.x, row.y, kGutter, pitch}, {.ink = Ink::Canvas, .alpha = 0, .item = item});
    if (pitch < 10) continue;
    write(drawing, named.timeline.ranks[r].name, {rows.x + 10, zero}, 11, Weight::Medium,
          Ink::Text);
    write(drawing, largest == 0 ? "0 B" : (largest > 0 ? "+" : "") + format_bytes({largest}),
          {rows.x + kGutter - 8, zero}, 10, Weight::Medium, largest > 0 ? Ink::Warn : Ink::Text2,
          Align::Right);
  }
}

}  // namespace

ComparisonModel comparison_model(ExperimentPtr a, std::string a_title, ExperimentPtr b,
                                 std::string b_title) {
  ComparisonModel model{side_of(std::move(a), std::move(a_title)),
                        side_of(std::move(b), std::move(b_title)), Instant{1}, 1};
  for (const ComparisonSide* side : {&model.a, &model.b}) {
    model.end = std::max(model.end, side->step.length());
    model.highest = std::max(model.highest, experiment_of(*side).result.capacity.value);
    for (const StepCurve& curve : side->memory.totals)
      model.highest = std::max(model.highest, peak_bytes(curve));
  }
  return model;
}

std::uint32_t shown_rank(const ComparisonModel& model, const ComparisonState& state) {
  const auto last = static_cast<std::uint32_t>(model.b.memory.totals.size()) - 1;
  return std::min(state.rank.value_or(model.b.memory.worst.value), last);
}

ComparisonLayout comparison_layout(const ComparisonModel& model, const Rect& area,
                                   const ComparisonState& state) {
  ComparisonLayout l;
  l.ruler = {area.x, area.y, area.width, std::min(kRuler, area.height)};
  float y = l.ruler.bottom();
  const float room = std::max(0.f, area.bottom() - y);
  const float memory = room * kMemoryShare >= kLeastMemory ? room * kMemoryShare : 0.f;
  const float bars = state.deltas_only ? kSideBar : 2 * kSideBar + (state.linked ? 0.f : kRuler);
  const float lanes =
      std::max(0.f, room - memory - (memory > 0 ? kSideBar : 0.f) - bars - 2 * kBetweenParts);
  const auto a = static_cast<float>(model.a.timeline.ranks.size()),
             b = static_cast<float>(model.b.timeline.ranks.size());
  const float pitch = std::min(kTallestLane, lanes / std::max(1.f, a + b));
  const auto next = [&](float height) {
    const Rect rect{area.x, y, area.width, height};
    y += height;
    return rect;
  };
  l.a_bar = next(kSideBar);
  if (state.deltas_only) {
    l.a_lanes = next(lanes + kBetweenParts);
  } else {
    l.a_lanes = next(pitch * a);
    y += kBetweenParts;
    l.b_ruler = next(state.linked ? 0.f : kRuler);
    l.b_bar = next(kSideBar);
    l.b_lanes = next(pitch * b);
  }
  y += kBetweenParts;
  if (memory > 0) {
    l.memory_bar = next(kSideBar);
    l.memory = {area.x, y, area.width, std::max(0.f, area.bottom() - y)};
  }
  return l;
}

void draw_comparison(Drawing& drawing, const Rect& area, const ComparisonModel& model,
                     const ComparisonState& state) {
  const ClipScope clip(drawing, area);
  const ComparisonLayout l = comparison_layout(model, area, state);
  const Instant end = end_of_side(model, model.a, state.linked);
  const Viewport v = viewport_of(l.ruler, state.a, end);
  draw_ruler(drawing, l.ruler, v, state.a, end);
  if (state.deltas_only) {
    draw_section_bar(drawing, l.a_bar,
                     "What B holds more (up) or less (down) than A at the same time");
    draw_delta_rows(drawing, l.a_lanes, model, state);
  } else {
    draw_side_bar(drawing, l.a_bar, "A", model.a);
    draw_side_lanes(drawing, l.a_lanes, model, false, state);
    if (!state.linked) {
      const Instant own_end = end_of_side(model, model.b, false);
      draw_ruler(drawing, l.b_ruler, viewport_of(l.b_ruler, state.b, own_end), state.b, own_end);
    }
    draw_side_bar(drawing, l.b_bar, "B", model.b);
    draw_side_lanes(drawing, l.b_lanes, model, true, state);
  }
  draw_memory_part(drawing, l, model, state);
  if (state.linked) {
    draw_time_marks(drawing, {area.x, l.ruler.bottom(), area.width, area.height - kRuler}, v,
                    state.a);
    draw_time_tags(drawing, l.ruler, v, state.a, end);
  }
}

Hover describe_comparison(const ComparisonModel& model, const Rect& area,
                          const ComparisonState& state, Item item, Point point) {
  const ComparisonLayout l = comparison_layout(model, area, state);
  const bool of_b = point.y >= (l.b_bar.height > 0 ? l.b_bar.y : l.memory_bar.y);
  const ComparisonSide& side = of_b ? model.b : model.a;
  const Instant end = end_of_side(model, side, state.linked);
  const Viewport v = viewport_of(area, state_of(state, of_b), end);
  if (contains(l.memory, point)) {
    const std::uint32_t rank = shown_rank(model, state);
    const Reading a = reading_of(model.a, rank), b = reading_of(model.b, rank);
    if (item.kind == ItemKind::Capacity)
      return {"Capacity", "per device", format_bytes(experiment_of(model.b).result.capacity), {}};
    const Instant at = time_at(v, point.x);
    const std::int64_t change = b.at(at) - a.at(at);
    return {"Memory at " + instant_text(at, end),
            model.b.timeline.ranks[b.device.value].name,
            "B " + format_bytes({b.at(at)}),
            {"A " + format_bytes({a.at(at)}),
             "B minus A " + std::string(change > 0 ? "+" : "") + format_bytes({change})}};
  }
  if (state.deltas_only || item.kind == ItemKind::Wave || item.kind == ItemKind::Peak) return {};
  Hover hover = describe_timeline(side.timeline, area,
                                  state_in_run(state_of(state, of_b), side.step, end), item);
  if (!hover.title.empty()) hover.where = std::string(of_b ? "B, " : "A, ") + hover.where;
  return hover;
}

float comparison_height(const ComparisonModel& model) {
  const auto ranks =
      static_cast<float>(model.a.timeline.ranks.size() + model.b.timeline.ranks.size());
  const float lanes = std::min(640.f, 22.f * ranks);
  return kRuler + 3 * kSideBar + 2 * kBetweenParts + lanes + std::max(150.f, lanes * 0.5f);
}

}  // namespace trainyard
