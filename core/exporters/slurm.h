// A plan as a batch script of Slurm: one task a node, torchrun within it, which starts Megatron-LM
// or, where only DeepSpeed can say the plan, a training program of one's own with DeepSpeed.
#pragma once

#include "core/exporters/exported.h"

namespace trainyard {

/// Of a legal scenario with a complete plan. Throws Error{Unsupported} with what each of the two
/// programs cannot say, where neither can say it all.
Exported slurm(const Scenario&);

}  // namespace trainyard
