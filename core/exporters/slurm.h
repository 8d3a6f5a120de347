// This file writes a plan as a batch script for Slurm: one task per node runs torchrun, which
// starts Megatron-LM or, where only DeepSpeed can express the plan, the user's own training program
// with DeepSpeed.
#pragma once

#include "core/exporters/exported.h"

namespace trainyard {

/// Takes a legal scenario with a complete plan. Where neither of the two programs can express it,
/// throws Error{Unsupported} with what each cannot.
Exported slurm(const Scenario&);

}  // namespace trainyard
