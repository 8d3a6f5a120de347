// The plans of a search as points of the Pareto view, and their names in words.
#pragma once

#include <string>

#include "planners/plans/plan_search.h"
#include "visualizers/plans/pareto_model.h"

namespace trainyard {

/// Every legal plan, ids rising; its figures by the closed form. spare: as the search had it.
ParetoModel plan_points(const PlanSpace&, const SearchResult&, Bytes spare);
/// While it searches: the front alone, as far as it is known; the first by `objective` is the best.
ParetoModel plan_points(const PlanSpace&, const std::vector<Candidate>& front, PlanObjective,
                        Bytes spare);

/// "interleaved ×5, TP 8, PP 4, DP 2": schedule and degrees above one.
std::string plan_name(const PlanSpace&, PlanId);
/// "micro-batch 2, ZeRO 1, recompute full": the other knobs that are open.
std::string plan_details(const PlanSpace&, PlanId);
/// Ranks of the data-parallel groups, all context ranks apart.
std::int64_t data_ranks(const PlanSpace&, PlanId);

}  // namespace trainyard
