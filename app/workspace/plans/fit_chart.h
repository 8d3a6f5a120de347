// This chart shows what a budget of memory made of a plan, as bars of memory by category, one for
// each lever.
#pragma once

#include "planners/budget/fit_budget.h"
#include "visualizers/chart/bars_view.h"

namespace trainyard {

/// The plan itself and, in the order in which they were pulled, its levers; each row ends at what
/// is reserved, and the budget is marked.
BarsModel fit_bars(const FittedPlan&);
Drawing fit_picture(const FittedPlan&);

}  // namespace trainyard
