// recompute=optimal: a word of --set that stands for the recomputation that optimal_recompute()
// finds. It becomes explicit where a scenario is opened, so that the plan that is shown, saved and
// lowered says which layer recomputes what.
#pragma once

#include <string>

#include "core/cost/cost_model.h"
#include "core/plan/plan.h"

namespace trainyard {

/// The settings without that word; whether it is the last that they say of recomputation.
struct RecomputeWords {
  std::string others;
  bool optimal = false, said = false;  // said: some word is about recomputation
};
RecomputeWords split_recompute_words(const std::string& words);

/// Writes the recomputation of least step time by these prices into the plan. What the closed form
/// finds is simulated, and chosen anew with less memory where the simulator sees it over. Throws
/// Error{InvalidInput} where nothing fits, and as prepare() does.
void choose_recompute(Scenario&, const CostModel&);

}  // namespace trainyard
