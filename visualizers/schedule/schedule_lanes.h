// A schedule with what it holds: a lane of boxes for each pipeline rank, with microbatch numbers as
// the papers print them, and under each lane the rank's memory over the same time, with the line
// that it must stay under.
#pragma once

#include "visualizers/time/memory_model.h"
#include "visualizers/timeline/timeline_view.h"
#include "visualizers/view.h"

namespace trainyard {

inline constexpr float kSchedulePitch = 46;     // px of a comfortable lane and its curve
inline constexpr float kScheduleHeader = 26;    // px of the bar over the lanes of lanes_view
inline constexpr float kLeastCurvePitch = 24;   // px below which curves give way to one for all
inline constexpr float kScheduleCurveAll = 44;  // px of that one, under the lanes

/// What lanes are drawn from; the models must outlive it.
struct ScheduleLanes {
  const TimelineModel& timeline;
  const MemoryModel& memory;
  Bytes budget{};            // the line in every curve
  std::int64_t highest = 0;  // bytes at the top of every curve: one value for all that are compared
};

/// The experiment's own capacity as budget.
ScheduleLanes schedule_lanes(const TimelineModel&, const MemoryModel&);

/// Lanes share the height of the area; where that is too low for curves, the device with the
/// highest peak has the only one, at the bottom. Items as draw_timeline's and draw_memory's.
void draw_schedule_lanes(Drawing&, const Rect& area, const ScheduleLanes&, const ViewState&,
                         Instant end);
/// What to say of an item under a pointer at x. The state must be the one it was drawn with.
Hover describe_schedule_lanes(const ScheduleLanes&, const Rect& area, const ViewState&, Instant end,
                              Item, float x);

/// A ruler, a bar that says what is seen, and the lanes.
void draw_lanes_view(Drawing&, const Rect& area, const ScheduleLanes&, const ViewState&);
Hover describe_lanes_view(const ScheduleLanes&, const Rect& area, const ViewState&, Item, float x);

extern const View kLanesView;

}  // namespace trainyard
