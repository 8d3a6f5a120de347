// This file lists what a scenario leaves open and how much each open point may change the answer:
// published runs show that micro-batch, recomputation, attention kernel and framework change the
// step time more than most refinements of a kernel's cost do.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/plan/plan.h"
#include "core/result/assumed.h"

namespace trainyard {

struct Given {
  bool micro_batch = true;  // whether the user stated its size; a plan does not record that
  /// Says whether the software that a plan names changes its prices; false under measured prices.
  bool priced_by_software = true;
};

/// A CostOf returns the cost model of a scenario.
using CostOf = std::function<std::shared_ptr<const CostModel>(const Scenario&)>;

/// The scenario must be as given, that is, not completed. `step` is the plan's predicted step time,
/// from which each answer is scaled; the relative changes are computed with the closed form. The
/// list is ordered by importance; it leaves out what is not legal or changes the answer by less
/// than half a percent. Throws as prepare() does.
std::vector<Assumed> assumptions(const Scenario& as_given, const Given&, Duration step,
                                 const CostOf&);

}  // namespace trainyard
