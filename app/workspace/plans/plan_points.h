// Converts the plans of a search to points of the Pareto view, and gives them readable names.
#pragma once

#include <string>

#include "planners/plans/plan_search.h"
#include "visualizers/plans/pareto_model.h"

namespace trainyard {

/// Every legal plan by ascending id, with closed-form figures. spare: as in the search.
ParetoModel plan_points(const PlanSpace&, const SearchResult&, Bytes spare);
/// During a search: the front as known so far; the first plan by `objective` is the best.
ParetoModel plan_points(const PlanSpace&, const std::vector<Candidate>& front, PlanObjective,
                        Bytes spare);

/// Schedule and degrees above one, such as "interleaved ×5, TP 8, PP 4, DP 2".
std::string plan_name(const PlanSpace&, PlanId);
/// The other open knobs, such as "micro-batch 2, ZeRO 1, recompute full".
std::string plan_details(const PlanSpace&, PlanId);
/// The number of ranks of a data-parallel group, counting context ranks separately.
std::int64_t data_ranks(const PlanSpace&, PlanId);

}  // namespace trainyard
