// Where the parts of a timeline lie: its overview, its ruler and the lanes of each rank, at their
// full height, higher where there is room, or as low as it takes to see many of them.
#pragma once

#include "visualizers/time/overview_strip.h"
#include "visualizers/time/timeline_model.h"

namespace trainyard {

/// Heights of what stands for one rank: compute lanes, communication lanes, and what parts them
/// from each other and from the next rank. Whole px.
struct LaneSizes {
  float pitch = 30, compute = 18, between = 1, comm = 7;

  float comm_top() const { return compute + between; }
  /// Returns whether there is no room for more than a colour a box.
  bool low() const { return compute < 8; }
  /// Returns whether ranks have a line and a gap between them.
  bool parted() const { return pitch >= 30; }
  friend bool operator==(const LaneSizes&, const LaneSizes&) = default;
};
inline constexpr LaneSizes kFullLanes;
inline constexpr float kLeastPitch = 2, kTallestPitch = 56;
/// Lanes of a pitch in [kLeastPitch, kTallestPitch]: all of them are lower or higher than
/// kFullLanes.
LaneSizes lane_sizes(float pitch);

/// Where the parts of a timeline lie within its area; the window's mouse handling goes by it.
struct TimelineLayout {
  Rect overview, ruler, lanes;
  OverviewStrip strip;  // within the overview
  Viewport whole;       // of the overview's plot
  Viewport shown;       // of the lanes' plot, scrolled no further than there are lanes
  LaneSizes sizes;
};
TimelineLayout timeline_layout(const TimelineModel&, const Rect& area, const ViewState&);
/// px of the lane of rules beneath the others; 0 where no rule has fired at a time.
float rule_lane_height(const TimelineModel&);
/// px that all lanes take with overview and ruler.
float timeline_height(const TimelineModel&, float pitch = kFullLanes.pitch);
/// px that the lanes take in their area, as far as they are in sight.
float lanes_shown(const TimelineLayout&, std::size_t ranks);
/// px of the lanes that have no room in their area: as far as they can be scrolled.
float lanes_overhang(const TimelineLayout&, std::size_t ranks);
/// y of the top of a rank's compute lane.
float lane_top(const TimelineLayout&, std::size_t rank);
/// Where the lane of a stream lies, and how high it is.
struct LanePlace {
  float top = 0, height = 0;
};
LanePlace lane_place(const TimelineLayout&, const Stream&);

}  // namespace trainyard
