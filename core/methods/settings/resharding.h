// This file says when a plan that shards weights over replicas gathers them, and when it frees the
// gathered weights.
#pragma once

#include <string_view>

#include "core/plan/plan.h"

namespace trainyard {

/// PyTorch's FSDP under a pipeline gathers weights once per step and accumulates full gradients;
/// other frameworks gather and scatter with every microbatch. Returns true where the plan names
/// PyTorch's FSDP.
bool gathers_once_a_step(const Plan&);
/// The parameter of zero that names layers which keep gathered weights where others free them. A
/// rewrite is given "all" or "none": whether its layer is one.
inline constexpr std::string_view kGatheredLayers = "gathered-layers";
/// Returns whether gathered weights are freed after forward, as the plan states or by its
/// framework's default. True where zero=3 is not chosen and nothing is stated.
bool reshards_after_forward(const Plan&);

}  // namespace trainyard
