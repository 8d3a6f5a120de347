// These charts show what a budget of memory made of a plan: bars of memory by category, one for
// each lever, and beside them the plans to choose from as points of memory and time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "planners/budget/fit_budget.h"
#include "visualizers/chart/bars_view.h"
#include "visualizers/chart/table.h"
#include "visualizers/plans/pareto_model.h"

namespace trainyard {

/// Puts settings such as "tp=8 pp=4" into words; empty leaves them as they are.
using SettingNames = std::function<std::string(const std::string&)>;

/// The plans to choose from: the front, fastest first, and behind it the fastest within the budget
/// that trains step by step as the plan does, where the front does not have it.
std::vector<FitPlan> fit_choices(const FittedPlan&);

/// The plan itself and, in the order in which they were pulled, its levers; each row ends at what
/// is reserved, and the budget is marked.
BarsModel fit_bars(const FittedPlan&, const SettingNames& = {});
/// A point for each of fit_choices(), in their order, and a last one for the plan itself unless it
/// is one of them. The budget is the line beyond which nothing fits.
ParetoModel fit_points(const FittedPlan&);
/// A row for each of fit_choices(): its place on the front by time, memory, step, what is different
/// about its training, and its settings.
DataTable fit_table(const FittedPlan&, const SettingNames& = {});

struct FitCharts {
  BarsModel bars;
  ParetoModel points;
  std::vector<std::string> plans, changes;  // by point: its settings, and FitPlan::changes
};
FitCharts fit_charts(const FittedPlan&, const SettingNames& = {});
/// Items: those of the bars; Dot, tag the point; Capacity.
void draw_fit(Drawing&, const Rect& area, const FitCharts&, Item selected = {});
Hover describe_fit(const FitCharts&, Item);
/// Says for people who cannot see them what the charts show.
std::string fit_words(const FitCharts&);
Drawing fit_picture(const FittedPlan&);

}  // namespace trainyard
