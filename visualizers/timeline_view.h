// The timeline: an overview of the whole run, a ruler, and for each pipeline rank a compute lane
// with its communication lane beneath. Boxes are coloured by operation; idle is hatched; what is
// too narrow to be seen alone is folded.
#pragma once

#include "visualizers/overview_strip.h"
#include "visualizers/timeline_model.h"

namespace trainyard {

/// Heights of what stands for one rank: compute lanes, communication lanes, and what parts them
/// from each other and from the next rank. Whole px.
struct LaneSizes {
  float pitch = 30, compute = 18, between = 1, comm = 7;

  float comm_top() const { return compute + between; }
  /// Whether there is no room for more than a colour a box.
  bool low() const { return compute < 8; }
  friend bool operator==(const LaneSizes&, const LaneSizes&) = default;
};
inline constexpr LaneSizes kFullLanes;
inline constexpr float kLeastPitch = 2;
/// Lanes of a pitch in [kLeastPitch, kFullLanes.pitch]; below the latter all of them are lower.
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
/// px that all lanes take at their full height, with overview and ruler.
float timeline_height(const TimelineModel&);
/// px of the lanes that have no room in their area: as far as they can be scrolled.
float lanes_overhang(const TimelineLayout&, std::size_t ranks);
/// y of the top of a rank's compute lane.
float lane_top(const TimelineLayout&, std::size_t rank);
/// Where the lane of a stream lies, and how high it is.
struct LanePlace {
  float top = 0, height = 0;
};
LanePlace lane_place(const TimelineLayout&, const Stream&);

/// Items: Span, tag the instruction; Fold, tag the instruction of its first span; Idle, tag the
/// instruction that ends the wait, or tail_tag() for what follows a rank's last; Lane, tag the
/// rank; Other, tag mark_tag() of a mark.
void draw_timeline(Drawing&, const Rect& area, const TimelineModel&, const ViewState&);

/// What to say of an item of draw_timeline. The state must be the one it was drawn with.
Hover describe_timeline(const TimelineModel&, const Rect& area, const ViewState&, Item);

/// "on the critical path, step 12 of 140".
std::string path_text(const TimelineModel&, InstructionId);

}  // namespace trainyard
