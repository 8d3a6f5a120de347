#include "visualizers/schedule/schedule_lanes.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "visualizers/chart/legend.h"
#include "visualizers/chart/section_bar.h"
#include "visualizers/memory/memory_view.h"
#include "visualizers/time/lane_painter.h"
#include "visualizers/time/memory_wave.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kUsualLane = 18, kUsualCurve = 24;  // px
constexpr float kTallestLane = 30;                  // it grows more slowly than its curve
constexpr float kTallestShare = 110;

// How the pitch of a rank is divided into its lane and its curve, with a gap after each.
struct Shares {
  float pitch = 0, lane = 0, curve = 0;
  bool curves = false;
};

Shares shares_of(const Rect& area, std::size_t ranks) {
  Shares s;
  const auto count = static_cast<float>(std::max<std::size_t>(1, ranks));
  s.pitch = std::min(kTallestShare, area.height / count);
  s.curves = s.pitch >= kLeastCurvePitch;
  if (!s.curves) {
    s.pitch = std::max(3.f, (area.height - kScheduleCurveAll) / count);
    s.lane = std::max(2.f, s.pitch - 1);
    return s;
  }
  const float more = std::max(0.f, s.pitch - kSchedulePitch);
  s.lane = std::min({kUsualLane + more / 4, kTallestLane, (s.pitch - 3) * 0.5f});
  s.curve = std::min(kUsualCurve + more, s.pitch - 3 - s.lane);
  return s;
}

void draw_budget(Drawing& drawing, const Rect& plot, const ByteScale& scale, Bytes budget) {
  const float y = scale.y(budget.value);
  line(drawing, {plot.x, y}, {plot.right(), y},
       {.ink = Ink::Text2, .dash_on = 6, .dash_off = 3, .item = {ItemKind::Capacity, 0}});
}

void draw_rank_curve(Drawing& drawing, const Rect& plot, const ScheduleLanes& lanes,
                     DeviceId device, const Viewport& v, const ViewState& state) {
  const ClipScope clip(drawing, {plot.x, plot.y - 1, plot.width, plot.height + 2});
  const StepCurve& curve = lanes.memory.totals[device.value];
  const ByteScale scale = scale_of(plot, lanes.highest, 1);
  fill(drawing, plot, {.ink = Ink::Canvas, .alpha = 0, .item = {ItemKind::Wave, device.value}});
  WavePainter painter(drawing, lanes.memory, device, v, state.scale);
  painter.summary(plot, scale);
  painter.top_line(plot, scale, 1, Ink::MemoryGradients);
  painter.overflow(plot, scale, lanes.budget.value);
  draw_budget(drawing, plot, scale, lanes.budget);
  const float x = cut_x(v, peak_at(curve)), tip = std::max(scale.y(peak_bytes(curve)), plot.y + 5);
  polygon(drawing, {{x - 3, tip - 5}, {x + 3, tip - 5}, {x, tip}},
          {.ink = Ink::Text, .item = {ItemKind::Peak, device.value}});
}

void draw_rank_lane(Drawing& drawing, LanePainter& painter, const ScheduleLanes& lanes,
                    const RankLanes& rank, const Shares& s, const Rect& row) {
  const auto count = static_cast<float>(std::max<std::size_t>(1, rank.compute.size()));
  const ClipScope clip(drawing, row);
  for (std::size_t i = 0; i < rank.compute.size(); ++i) {
    const float top = row.y + s.lane * static_cast<float>(i) / count;
    if (s.lane / count < 5)
      painter.overview(rank.compute[i], top, s.lane / count);
    else
      painter.compute(rank.compute[i], top, s.lane / count, rank.device);
  }
  if (rank.compute.empty() && lanes.timeline.end > Instant{})
    hatch(drawing, {row.x, row.y, row.width, s.lane}, Pattern::Idle);
}

void draw_rank_name(Drawing& drawing, const ScheduleLanes& lanes, const RankLanes& rank,
                    const Shares& s, Point at, const ViewState& state) {
  if (s.pitch < 9) return;
  const bool selected = state.selected == Item{ItemKind::Lane, rank.device.value};
  const float size = s.pitch < 13 ? 9.f : 11.f;
  const std::int64_t peak = peak_bytes(lanes.memory.totals[rank.device.value]);
  const Ink ink = peak > lanes.budget.value ? Ink::Error : Ink::Text2;
  fill(drawing, {at.x, at.y, kGutter, s.pitch},
       {.ink = Ink::Canvas, .item = {ItemKind::Lane, rank.device.value}});
  const float name_y = at.y + std::max(s.lane, size) / 2;
  write(drawing, rank.name, {at.x + 10, name_y}, size, selected ? Weight::SemiBold : Weight::Medium,
        Ink::Text);
  const float reading_y = s.curve >= 12 ? at.y + s.lane + 2 + s.curve / 2 : name_y;
  write(drawing, format_bytes({peak}), {at.x + kGutter - 8, reading_y}, std::min(size, 10.f),
        Weight::Medium, ink, Align::Right);
}

void draw_only_curve(Drawing& drawing, const Rect& area, const ScheduleLanes& lanes,
                     const Viewport& v, const ViewState& state) {
  const DeviceId worst = lanes.memory.worst;
  const Rect plot{v.plot.x, area.bottom() - kScheduleCurveAll + 4, v.plot.width,
                  kScheduleCurveAll - 6};
  write(drawing, lanes.timeline.ranks[worst.value].name, {area.x + 10, plot.y + plot.height / 2},
        10, Weight::Medium, Ink::Text2);
  write(drawing, format_bytes({peak_bytes(lanes.memory.totals[worst.value])}),
        {area.x + kGutter - 8, plot.y + plot.height / 2}, 10, Weight::Medium, Ink::Text2,
        Align::Right);
  draw_rank_curve(drawing, plot, lanes, worst, v, state);
}

constexpr std::array<std::pair<const char*, Ink>, 5> kLaneInks = {
    {{"forward", Ink::Forward},
     {"backward", Ink::Backward},
     {"weight gradient", Ink::WeightGradient},
     {"recomputed", Ink::Recompute},
     {"update", Ink::Optimizer}}};

bool occurs(const Experiment& experiment, Ink ink) {
  if (ink == Ink::Recompute)
    return std::any_of(experiment.prices.recompute_share.begin(),
                       experiment.prices.recompute_share.end(), [](double s) { return s > 0; });
  return std::any_of(experiment.program.tasks.begin(), experiment.program.tasks.end(),
                     [&](const Task& task) { return ink_of(task) == ink; });
}

void draw_lanes_bar(Drawing& drawing, const Rect& bar, const ScheduleLanes& lanes) {
  const float left = draw_section_bar(drawing, bar, "Lanes"),
              right = end_section_bar(drawing, bar, "capacity " + format_bytes(lanes.budget));
  std::vector<LegendEntry> entries;
  for (const auto& [name, ink] : kLaneInks)
    if (occurs(*lanes.timeline.experiment, ink))
      entries.push_back({name, box_sign(ink, {ItemKind::Legend, static_cast<std::uint64_t>(ink)})});
  draw_legend_after(drawing, {left, bar.y + bar.height / 2}, right, entries);
}

Rect rows_below_bar(const Rect& area) {
  const float top = std::min(area.bottom(), area.y + kRuler + kScheduleHeader + 4);
  return {area.x, top, area.width, area.bottom() - top};
}

}  // namespace

ScheduleLanes schedule_lanes(const TimelineModel& timeline, const MemoryModel& memory) {
  const Bytes budget = memory.experiment->result.capacity;
  std::int64_t highest = budget.value;
  for (const StepCurve& curve : memory.totals) highest = std::max(highest, peak_bytes(curve));
  return {timeline, memory, budget, highest};
}

void draw_schedule_lanes(Drawing& drawing, const Rect& area, const ScheduleLanes& lanes,
                         const ViewState& state, Instant end) {
  if (lanes.timeline.ranks.empty() || area.height <= 0) return;
  const ClipScope clip(drawing, area);
  const Viewport v = viewport_of(area, state, end);
  const Shares s = shares_of(area, lanes.timeline.ranks.size());
  LanePainter painter(drawing, lanes.timeline, v, state.scale);
  for (std::size_t i = 0; i < lanes.timeline.ranks.size(); ++i) {
    const RankLanes& rank = lanes.timeline.ranks[i];
    const float top = area.y + s.pitch * static_cast<float>(i);
    draw_rank_name(drawing, lanes, rank, s, {area.x, top}, state);
    draw_rank_lane(drawing, painter, lanes, rank, s, {v.plot.x, top, v.plot.width, s.lane});
    if (s.curves)
      draw_rank_curve(drawing, {v.plot.x, top + s.lane + 2, v.plot.width, s.curve}, lanes,
                      rank.device, v, state);
  }
  if (!s.curves) draw_only_curve(drawing, area, lanes, v, state);
}

Hover describe_schedule_lanes(const ScheduleLanes& lanes, const Rect& area, const ViewState& state,
                              Instant end, Item item, float x) {
  ViewState shared = state;
  if (!shared.shown) shared.shown = TimeRange{Instant{0}, end};
  if (item.kind == ItemKind::Wave || item.kind == ItemKind::Peak || item.kind == ItemKind::Capacity)
    return describe_memory(lanes.memory, item,
                           time_at(viewport_of(area, shared, end), static_cast<double>(x)));
  return describe_timeline(lanes.timeline, area, shared, item);
}

void draw_lanes_view(Drawing& drawing, const Rect& area, const ScheduleLanes& lanes,
                     const ViewState& state) {
  const ClipScope clip(drawing, area);
  const Instant end = lanes.timeline.end;
  const Rect ruler{area.x, area.y, area.width, kRuler};
  const Viewport v = viewport_of(ruler, state, end);
  draw_ruler(drawing, ruler, v, state, end);
  draw_lanes_bar(drawing, {area.x, area.y + kRuler, area.width, kScheduleHeader}, lanes);
  const Rect rows = rows_below_bar(area);
  draw_schedule_lanes(drawing, rows, lanes, state, end);
  const Shares s = shares_of(rows, lanes.timeline.ranks.size());
  const float height =
      s.curves ? s.pitch * static_cast<float>(lanes.timeline.ranks.size()) : rows.height;
  draw_time_marks(drawing, {rows.x, rows.y, rows.width, std::min(rows.height, height)}, v, state);
  draw_time_tags(drawing, ruler, v, state, end);
}

Hover describe_lanes_view(const ScheduleLanes& lanes, const Rect& area, const ViewState& state,
                          Item item, float x) {
  return describe_schedule_lanes(lanes, rows_below_bar(area), state, lanes.timeline.end, item, x);
}

}  // namespace trainyard
