// What the closed form says of a scenario, with its bands and with what it assumes.
#pragma once

#include <vector>

#include "core/cost/cost_model.h"
#include "core/plan/plan.h"
#include "core/result/result.h"

namespace trainyard {

/// The closed form. Null = cost_model(scenario).
Result estimate(const Scenario&, const CostModel* = nullptr, bool micro_batch_given = true);

/// What a result of that step assumes. Given prices know nothing of the software that a plan names.
std::vector<Assumed> assumed(const Scenario&, Duration step, const CostModel*,
                             bool micro_batch_given);

}  // namespace trainyard
