// Refines plans of a search beyond the space's grid: mixes the recomputation layer by layer so that
// the plan just fits, and splits its layers by their costs; where the space has the schedule
// tick-tock, which its grid tries on pipelines alone, runs the microbatches of one device as waves
// that share it. It starts from the best plans found, and from plans that would be faster but do
// not fit, although the same plan fits if everything is recomputed.
#pragma once

#include <string>
#include <vector>

#include "planners/plans/plan_search.h"

namespace trainyard {

struct RefinedPlan {
  PlanId from = 0;  // plan of the space that was refined
  // Settings, as --set takes them, beyond that plan's own: "recompute=full*4,...".
  std::vector<std::string> changes;
  Plan plan;
  Duration step{};       // by the closed form
  Duration simulated{};  // 0 = not simulated
  Bytes memory{};        // reserved on the fullest device
  Duration time() const { return simulated > Duration{} ? simulated : step; }
};

/// Refines at most `starts` plans. The plans returned fit and are faster than the search's best,
/// fastest first. If the options have a simulator, each plan is simulated and dropped if it then
/// does not fit or is not faster. Has no side effects except through the options' functions; stops
/// early if asked.
std::vector<RefinedPlan> refine(const PlanSpace&, const SearchResult&, const SearchOptions&,
                                std::size_t starts = 8);

}  // namespace trainyard
