// Schedules beside each other under one memory budget: a panel each, with its lanes, what the
// devices hold and the budget's line, on one time axis; against the first it says how much sooner
// a step is over. A schedule whose weights are stale is never
// shown with its step time alone: what its tokens are worth stands beside it.
#pragma once

#include <string>
#include <vector>

#include "visualizers/chart/table.h"
#include "visualizers/schedule/schedule_lanes.h"

namespace trainyard {

struct SchedulePanel {
  std::string name;     // "interleaved"
  std::string changed;  // against the plan that all start from: "virtual-stages=2"; may be empty
  std::string why_not;  // "needs 3.20 GiB more ...", or why it is not legal; empty: it fits
  std::string tokens;   // "" for a synchronous schedule, else what its tokens are worth
  std::vector<std::string> settings;  // that make the plan so: "schedule=zb-h1"; the plan is: none
  TimeRange step;                     // the part of the run that is compared: its steady step
  TimelineModel timeline;             // no ranks where the schedule is not legal
  MemoryModel memory;
};

struct SchedulesModel {
  std::vector<SchedulePanel> panels;
  Bytes budget{};
  Instant end{};             // length of the longest step
  std::int64_t highest = 0;  // bytes: the highest of all peaks and the budget
};
/// Panels as given. Linear in the panels.
SchedulesModel schedules_model(std::vector<SchedulePanel>, Bytes budget);
/// Timeline and memory of an experiment; what words there are is the caller's.
SchedulePanel schedule_panel(ExperimentPtr);

inline constexpr float kPanelHeader = 24;
/// Where panel i lies. Panels share the height under the ruler; where they are more than six, six
/// do and the others are scrolled to.
Rect panel_area(const SchedulesModel&, const Rect& area, std::size_t panel, float scroll = 0);
/// px that all panels take at that size.
float schedules_content(const SchedulesModel&, const Rect& area);
/// A height at which lanes and curves are comfortable.
float schedules_height(const SchedulesModel&);

/// The chosen panel is state.selected: an Other whose tag is its number.
void draw_schedules(Drawing&, const Rect& area, const SchedulesModel&, const ViewState&);
/// What to say of the thing at a point of that drawing.
Hover describe_schedules(const SchedulesModel&, const Rect& area, const ViewState&, Item, Point);

/// Schedules in the order of their panels.
DataTable schedules_table(const SchedulesModel&);

}  // namespace trainyard
