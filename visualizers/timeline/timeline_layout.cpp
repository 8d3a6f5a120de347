#include "visualizers/timeline/timeline_layout.h"

#include <algorithm>
#include <cmath>

namespace trainyard {
namespace {

constexpr float kFirstLane = 5;     // px below the ruler
constexpr float kRuleLane = 14;     // px of its height
constexpr float kLeastParted = 12;  // px of a pitch from which on lanes of a rank are apart

}  // namespace

float rule_lane_height(const TimelineModel& model) {
  if (model.experiment == nullptr) return 0;
  const std::vector<FiredRule>& rules = model.experiment->result.rules;
  const bool any = std::any_of(rules.begin(), rules.end(),
                               [](const FiredRule& fired) { return fired.at.has_value(); });
  return any ? kRuleLane : 0;
}

float timeline_height(const TimelineModel& model, float pitch) {
  return kOverview + kRuler + kFirstLane + pitch * static_cast<float>(model.ranks.size()) +
         rule_lane_height(model);
}

LaneSizes lane_sizes(float pitch) {
  LaneSizes sizes;
  if (pitch >= kFullLanes.pitch) {
    sizes.pitch = std::min(kTallestPitch, std::floor(pitch));
    const float more = sizes.pitch - kFullLanes.pitch, link = std::floor(more / 4);
    sizes.comm += link;
    sizes.compute += more - link;
    return sizes;
  }
  sizes.pitch = std::max(kLeastPitch, std::floor(pitch));
  sizes.between = sizes.pitch < kLeastParted ? 0 : 1;
  const float gap = sizes.pitch < 4 ? 0.f : std::max(1.f, std::floor(sizes.pitch / 6));
  const float both = sizes.pitch - gap - sizes.between;
  sizes.comm =
      std::max(1.f, std::floor(both * kFullLanes.comm / (kFullLanes.comm + kFullLanes.compute)));
  sizes.compute = both - sizes.comm;
  return sizes;
}

float lanes_shown(const TimelineLayout& layout, std::size_t ranks) {
  return std::clamp(
      kFirstLane + layout.sizes.pitch * static_cast<float>(ranks) - layout.shown.scroll, 0.f,
      layout.lanes.height);
}

float lanes_overhang(const TimelineLayout& layout, std::size_t ranks) {
  return std::max(
      0.f, kFirstLane + layout.sizes.pitch * static_cast<float>(ranks) - layout.lanes.height);
}

TimelineLayout timeline_layout(const TimelineModel& model, const Rect& area,
                               const ViewState& state) {
  TimelineLayout layout;
  layout.overview = {area.x, area.y, area.width, kOverview};
  layout.ruler = {area.x, area.y + kOverview, area.width, kRuler};
  const float top = layout.ruler.bottom();
  layout.lanes = {area.x, top, area.width,
                  std::max(0.f, area.bottom() - top - rule_lane_height(model))};
  layout.strip = overview_strip(layout.overview, model.ranks.size(), model.end);
  layout.whole = layout.strip.whole;
  layout.shown = viewport_of(layout.lanes, state, model.end);
  if (!model.ranks.empty()) {
    const float fitting =
        (layout.lanes.height - kFirstLane) / static_cast<float>(model.ranks.size());
    const float least = state.every_rank ? kLeastPitch : kFullLanes.pitch;
    layout.sizes = lane_sizes(std::max(fitting, least));
  }
  layout.shown.scroll = std::min(layout.shown.scroll, lanes_overhang(layout, model.ranks.size()));
  return layout;
}

float lane_top(const TimelineLayout& layout, std::size_t rank) {
  return layout.lanes.y + kFirstLane + layout.sizes.pitch * static_cast<float>(rank) -
         layout.shown.scroll;
}

LanePlace lane_place(const TimelineLayout& layout, const Stream& stream) {
  const LaneSizes& sizes = layout.sizes;
  const float top = lane_top(layout, stream.device.value);
  return stream.compute ? LanePlace{top, sizes.compute}
                        : LanePlace{top + sizes.comm_top(), sizes.comm};
}

}  // namespace trainyard
