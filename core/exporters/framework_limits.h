// A plan can name a program as its framework; that program may be unable to run the plan.
#pragma once

#include "core/plan/plan.h"

namespace trainyard {

/// What torchtitan, Megatron Core or DeepSpeed has no word for in a plan, or stops at when it
/// starts, where the plan states that one as its framework: errors, each with the fix that its
/// exporter proposes. Empty for every other framework and where none is stated, and of the model,
/// which may be built by hand. Of a legal scenario with a complete plan.
Diagnostics framework_refusals(const Scenario&);

}  // namespace trainyard
