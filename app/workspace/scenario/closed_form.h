// The closed form estimates a scenario; its result carries bands and the assumptions that it rests
// on.
#pragma once

#include <vector>

#include "core/cost/cost_model.h"
#include "core/plan/plan.h"
#include "core/result/result.h"

namespace trainyard {

/// The closed form, and that of every phase of a batch ramp. Null = cost_model(scenario).
Result estimate(const Scenario&, const CostModel* = nullptr, bool micro_batch_given = true);

/// Lists what a result with that step time assumes. With a given cost model the software that a
/// plan names is no assumption, because such prices do not depend on it.
std::vector<Assumed> assumed(const Scenario&, Duration step, const CostModel*,
                             bool micro_batch_given);

}  // namespace trainyard
