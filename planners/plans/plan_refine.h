// Beyond a space's grid: plans of a search, each with the recomputation mixed layer by layer so
// that it just fits, and with its layers split by what they cost. Starts are the best plans found,
// and those that would be quicker but do not fit while the same plan with everything recomputed
// does.
#pragma once

#include <string>
#include <vector>

#include "planners/plans/plan_search.h"

namespace trainyard {

struct RefinedPlan {
  PlanId from = 0;                   // of the space
  std::vector<std::string> changes;  // words of --set beyond that plan's own:
                                     // "recompute=full*4,..."
  Plan plan;
  Duration step{};       // closed form
  Duration simulated{};  // 0 = not simulated
  Bytes memory{};        // reserved on the fullest device
  Duration time() const { return simulated > Duration{} ? simulated : step; }
};

/// At most `starts` plans are refined; what comes back fits and is quicker than the search's best,
/// quickest first. With a simulator in the options each is simulated, and dropped where it does not
/// fit or is not quicker after all. Pure but for the options' functions; stops early when asked.
std::vector<RefinedPlan> refine(const PlanSpace&, const SearchResult&, const SearchOptions&,
                                std::size_t starts = 8);

}  // namespace trainyard
