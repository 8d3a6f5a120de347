// Compared schedules as panels to draw.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/workspace/schedules/schedule_comparison.h"
#include "visualizers/schedule/schedules_view.h"

namespace trainyard {

/// "zb-h1", or "zb-h1, own order".
std::string shown_name(const ComparedSchedule&);
SchedulePanel panel_of(const ComparedSchedule&);
/// An own order and the plan's own schedule first, then what fits by step time, then what is
/// asynchronous and fits (never ranked by step time), then the rest.
std::vector<SchedulePanel> ranked_panels(const ScheduleComparison&, std::string_view own);

}  // namespace trainyard
