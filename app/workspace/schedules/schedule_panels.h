// Converts compared schedules to panels to draw.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/workspace/schedules/schedule_comparison.h"
#include "visualizers/schedule/schedules_view.h"

namespace trainyard {

/// Such as "zb-h1" or "zb-h1, own order".
std::string shown_name(const ComparedSchedule&);
SchedulePanel panel_of(const ComparedSchedule&);
/// The plan's own order and schedule come first, then schedules that fit by step time, then
/// asynchronous ones that fit (which are never ranked by step time), then the rest.
std::vector<SchedulePanel> ranked_panels(const ScheduleComparison&, std::string_view own);

}  // namespace trainyard
