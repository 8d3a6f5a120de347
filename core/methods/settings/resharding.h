// When a plan that divides weights over replicas gathers them, and when it lets them go again.
#pragma once

#include "core/plan/plan.h"

namespace trainyard {

/// PyTorch's FSDP under a pipeline gathers weights once a step and adds gradients up in full; other
/// frameworks do both with every microbatch. True where the plan names the former.
bool gathers_once_a_step(const Plan&);
/// Whether gathered weights go after forward, as the plan states or as its framework does. True
/// where zero=3 is not chosen and nothing is stated.
bool reshards_after_forward(const Plan&);

}  // namespace trainyard
