// operator-stages=concurrent: a word of --set that stands for the stages of least time
// (planners/branches). It is replaced where a scenario is opened, so that the plan that is shown,
// saved and lowered says which operators run beside each other.
#pragma once

#include "core/cost/cost_model.h"
#include "core/plan/plan.h"

namespace trainyard {

/// Returns whether the plan asks for stages that are still to be found.
bool asks_for_stages(const Plan&);
/// Takes the word out of such a plan, and returns the cores for which it asks.
int take_question(Plan&);
/// Writes the stages of least time by these prices for so many cores into the plan; one whose
/// operators all wait for each other gets none. Throws as prepare() does.
void choose_operator_stages(Scenario&, const CostModel&, int cores);

}  // namespace trainyard
