// recompute=optimal: a word of --set that stands for the recomputation that optimal_recompute()
// finds. The word is replaced where a scenario is opened, so that the plan that is shown, saved and
// lowered says which layer recomputes what.
#pragma once

#include <optional>
#include <string>

#include "core/cost/cost_model.h"
#include "core/plan/plan.h"

namespace trainyard {

/// The words of --set, with recompute=optimal and recompute=optimal:BYTES taken out of them.
struct RecomputeWords {
  std::string others;
  bool said = false;            // some word is about recomputation
  bool optimal = false;         // the last such word asks for the optimal one
  std::optional<Bytes> budget;  // of each device, as that word states it; empty where it does not
};
/// Throws Error{InvalidInput} for a budget that is not a positive number of bytes.
RecomputeWords split_recompute_words(const std::string& words);

/// Writes the recomputation of least step time by these prices into the plan, within the budget or,
/// without one, within the device's memory; a budget above the device's memory is that memory. What
/// the closed form finds is simulated, and chosen again with less memory where the simulator sees
/// more held than the budget. Throws Error{InvalidInput} where nothing fits, and as prepare() does.
void choose_recompute(Scenario&, const CostModel&, std::optional<Bytes> budget = {});

}  // namespace trainyard
