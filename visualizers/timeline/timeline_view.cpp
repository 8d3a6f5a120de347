#include "visualizers/timeline/timeline_view.h"
#include "visualizers/drawing/drawing_parts.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "visualizers/drawing/text_metrics.h"
#include "visualizers/time/lane_painter.h"
#include "visualizers/time/span_search.h"
#include "visualizers/timeline/rule_lane.h"
#include "visualizers/timeline/timeline_overlays.h"
#include "visualizers/timeline/timeline_selection.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kNamePitch = 14;                // px from one name in the gutter to the next
constexpr std::size_t kManySpans = 100'000;     // from which on threads are worth their start
constexpr std::size_t kRanksTogether = 4;       // drawn by one thread
constexpr std::size_t kUsualTiles = 32 * 1024;  // of a full screen; saves moving them

TimeRange measured_range(const TimelineModel& model, const ViewState& state) {
  return state.range.value_or(TimeRange{Instant{0}, model.end});
}

bool is_selected(const TimelineModel& model, const RankLanes& rank, Item selected) {
  if (selected.kind == ItemKind::Lane) return selected.tag == rank.device.value;
  if (selected.kind != ItemKind::Span) return false;
  const SpanPlace place = place_of(model, InstructionId{static_cast<std::uint32_t>(selected.tag)});
  return place.row != kNoRow && model.experiment->program.streams[place.row].device == rank.device;
}

void draw_gutter(Drawing& drawing, const TimelineModel& model, const RankLanes& rank, Point at,
                 const ViewState& state) {
  const bool selected = is_selected(model, rank, state.selected);
  const TimeRange range = measured_range(model, state);
  const double whole = to_seconds(range.length());
  const double busy =
      whole > 0 ? to_seconds(busy_time(model.spans, rank.busy_row, range.from, range.to)) / whole
                : 0;
  const Weight weight = selected ? Weight::SemiBold : Weight::Medium;
  write(drawing, rank.name, {at.x + 10, at.y}, 11, weight, Ink::Text);
  const float place_x = std::max(54.f, 10 + text_width(rank.name, 11, weight) + 5);
  const std::string reading = format_percent(busy);
  const float room = kGutter - 8 - text_width(reading, 10) - 2 - place_x;
  // Where the whole does not fit, the numbers of the nodes do: "0\u201331".
  const bool fits = text_width(rank.place, 10, Weight::Regular) <= room;
  const std::string place = fits ? rank.place : rank.place.substr(rank.place.find(' ') + 1);
  write_within(drawing, place, {at.x + place_x, at.y}, room, 10, Weight::Regular, Ink::Text3);
  write(drawing, reading, {at.x + kGutter - 8, at.y}, 10, Weight::Medium, Ink::Text2, Align::Right);
}

void draw_overview(Drawing& drawing, const TimelineLayout& layout, const TimelineModel& model,
                   const ViewState& state) {
  const Rect& area = layout.overview;
  // Lanes of several steps, or without the waits for allocator and input, are not as long as a
  // step.
  const Experiment& e = *model.experiment;
  const Breakdown& parts = e.result.breakdown;
  const bool step = e.program.steps < 2 && parts.allocator + parts.input == Duration{};
  write(drawing, step ? "Step" : "Run", {area.x + 10, area.y + 18}, 11, Weight::SemiBold,
        Ink::Text);
  write(drawing, format_step_time(model.end), {area.x + 10, area.y + 32}, 10, Weight::Regular,
        Ink::Text3);
  LanePainter painter(drawing, model, layout.whole, state.scale);
  std::vector<float> ticks;
  if (state.hits) {
    const std::vector<Span>& spans = model.experiment->timeline.spans;
    ticks = tick_columns(layout.whole, state.scale, state.hits->spans.size(),
                         [&](std::size_t i) { return spans[state.hits->spans[i].value].start; });
  }
  draw_overview_strip(drawing, layout.strip, {layout.shown.from, layout.shown.to}, state, ticks,
                      [&](std::size_t i, float top, float height) {
                        const std::size_t rank = overview_row(layout.strip, i, model.ranks.size());
                        painter.overview(model.ranks[rank].busy_row, top, height);
                      });
  line(drawing, {area.x, area.bottom() - 0.5f}, {area.right(), area.bottom() - 0.5f},
       {.ink = Ink::Border});
}

void draw_lane(LanePainter& painter, const RankLanes& rank, const LaneSizes& sizes, float top) {
  const auto lanes = static_cast<float>(std::max<std::size_t>(1, rank.compute.size()));
  for (std::size_t i = 0; i < rank.compute.size(); ++i)
    painter.compute(rank.compute[i], top + sizes.compute * static_cast<float>(i) / lanes,
                    sizes.compute / lanes, rank.device);
  for (const std::uint32_t row : rank.comm) painter.comm(row, top + sizes.comm_top(), sizes.comm);
}

// From the top of a rank's lanes to the middle of its name.
float name_middle(const LaneSizes& sizes) {
  return sizes.pitch < kNamePitch ? kNamePitch / 2 : sizes.compute / 2;
}

// Where a rank's name has the room of several ranks' lanes, so many.
std::size_t ranks_a_name(const LaneSizes& sizes) {
  return static_cast<std::size_t>(std::ceil(std::max(1.f, kNamePitch / sizes.pitch)));
}

// Ranks [first, last), one below the other.
void draw_ranks(Drawing& drawing, const TimelineLayout& layout, const TimelineModel& model,
                const ViewState& state, std::size_t first, std::size_t last) {
  const Rect& area = layout.lanes;
  const LaneSizes& sizes = layout.sizes;
  const bool full = sizes.parted();
  const float above = full ? 3 : 0;               // px of the gap above a lane that are its own
  const std::size_t named = ranks_a_name(sizes);  // so nothing is painted over a name
  LanePainter painter(drawing, model, layout.shown, state.scale, sizes.low());
  for (std::size_t i = first; i < last; ++i) {
    const float top = lane_top(layout, i);
    fill(drawing, {area.x, top - (full ? 2.f : 0.f), kGutter, sizes.pitch - above},
         {.ink = Ink::Canvas, .alpha = full ? 1.f : 0.f, .item = {ItemKind::Lane, i}});
    if (i % named == 0)
      draw_gutter(drawing, model, model.ranks[i], {area.x, top + name_middle(sizes)}, state);
    if (full) {
      const float border = top + sizes.pitch - 3.5f;
      line(drawing, {area.x, border}, {area.right(), border}, {.ink = Ink::Grid});
    }
    const ClipScope plot(drawing,
                         {layout.shown.plot.x, top - above, layout.shown.plot.width, sizes.pitch});
    draw_lane(painter, model.ranks[i], sizes, top);
  }
}

// The same on all processors, a few ranks at a time.
void draw_ranks_together(Drawing& drawing, const TimelineLayout& layout, const TimelineModel& model,
                         const ViewState& state, std::size_t first, std::size_t last) {
  const std::size_t parts = (last - first + kRanksTogether - 1) / kRanksTogether;
  draw_in_parallel(drawing, parts, [&](Drawing& on, std::size_t part) {
    const std::size_t from = first + part * kRanksTogether;
    draw_ranks(on, layout, model, state, from, std::min(last, from + kRanksTogether));
  });
}

void draw_lanes(Drawing& drawing, const TimelineLayout& layout, const TimelineModel& model,
                const ViewState& state) {
  const Rect& area = layout.lanes;
  const ClipScope clip(drawing, area);
  draw_grid(drawing, {area.x, area.y, area.width, lanes_shown(layout, model.ranks.size())},
            layout.shown);
  drawing.origin = {static_cast<float>(extent(layout.shown, Instant{0}, Instant{0}).left), area.y};
  std::size_t first = 0, last = model.ranks.size();
  while (first < last && lane_top(layout, first) + layout.sizes.pitch < area.y) ++first;
  while (first < last && lane_top(layout, last - 1) > area.bottom()) --last;
  const bool many = model.spans.start.size() >= kManySpans && last - first > kRanksTogether;
  (many ? draw_ranks_together : draw_ranks)(drawing, layout, model, state, first, last);
  const ClipScope plot(drawing,
                       {layout.shown.plot.x - 3, area.y, layout.shown.plot.width + 6, area.height});
  draw_overlays(drawing, layout, model, state);
  draw_selection(drawing, layout, model, state.selected);
}

}  // namespace

void draw_timeline(Drawing& drawing, const Rect& area, const TimelineModel& model,
                   const ViewState& state) {
  const ClipScope clip(drawing, area);
  const TimelineLayout layout = timeline_layout(model, area, state);
  drawing.tiles.reserve(drawing.tiles.size() + kUsualTiles);
  draw_overview(drawing, layout, model, state);
  draw_ruler(drawing, layout.ruler, layout.shown, state, model.end);
  write(drawing, "busy", {layout.ruler.x + kGutter - 8, layout.ruler.y + 8}, 10, Weight::Regular,
        Ink::Text3, Align::Right);
  draw_lanes(drawing, layout, model, state);
  draw_rule_lane(drawing, layout, model);
  const Rect& lanes = layout.lanes;
  draw_time_marks(drawing, {lanes.x, lanes.y, lanes.width, lanes_shown(layout, model.ranks.size())},
                  layout.shown, state);
  draw_time_tags(drawing, layout.ruler, layout.shown, state, model.end);
}

}  // namespace trainyard
