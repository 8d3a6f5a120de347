// A plan can name a program as its framework, and this file finds out whether that program is
// unable to run the plan.
#pragma once

#include "core/plan/plan.h"

namespace trainyard {

/// Returns as errors, each with the fix that the exporter proposes, what the framework that the
/// plan states cannot express or refuses at its start. It knows torchtitan, Megatron Core and
/// DeepSpeed. The result is empty for every other framework and where none is stated; limits on the
/// model are left out, because the model may be built by hand. Takes a legal scenario with a
/// complete plan.
Diagnostics framework_refusals(const Scenario&);

}  // namespace trainyard
