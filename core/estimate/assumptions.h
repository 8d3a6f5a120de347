// What a scenario leaves open, and what that is worth: published runs show that micro-batch,
// recomputation, attention kernel and framework move a step by more than most refinements of a
// kernel's cost do.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/plan/plan.h"
#include "core/result/assumed.h"

namespace trainyard {

struct Given {
  bool micro_batch = true;  // somebody said how large it is; a plan cannot tell
  /// The software that a plan names changes its prices; false under measured prices.
  bool priced_by_software = true;
};

/// The cost model of a scenario.
using CostOf = std::function<std::shared_ptr<const CostModel>(const Scenario&)>;

/// As given: not completed. `step` is what the plan itself was predicted to take, which each answer
/// is scaled from; prices are those of the closed form. Most important first; what moves the answer
/// by less than half a percent, or is not legal, is left out. Throws as prepare() does.
std::vector<Assumed> assumptions(const Scenario& as_given, const Given&, Duration step,
                                 const CostOf&);

}  // namespace trainyard
