// A RecomputeEffect is what a plan's recomputation does for its memory and, if it frees nothing,
// why.
#pragma once

#include <string>

#include "planners/plans/plan_figures.h"

namespace trainyard {

struct RecomputeEffect {
  std::string policy;  // "selective"
  /// Bytes kept from forward to backward on the device that is fullest without recomputation.
  Bytes kept_without{}, kept_with{};
  /// Bytes reserved on the fullest device in each case, which need not be the same device.
  Bytes reserved_without{}, reserved_with{};
  DeviceId worst_without, worst_with;
  std::string sentence;  // how much it frees, or why it frees nothing
};

/// Compares the plan with the same plan under recompute=none, by the closed form. Throws as
/// prepare() does.
RecomputeEffect recompute_effect(const Scenario&, const CostOf&);

}  // namespace trainyard
