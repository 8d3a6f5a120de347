// What a plan's recomputation does for its memory, and why it frees nothing where it does not.
#pragma once

#include <string>

#include "planners/plans/plan_figures.h"

namespace trainyard {

struct RecomputeEffect {
  std::string policy;  // "selective"
  /// Of the device that is fullest without recomputation, kept from forward to backward.
  Bytes kept_without{}, kept_with{};
  /// Reserved by the fullest device, whichever that is.
  Bytes reserved_without{}, reserved_with{};
  DeviceId worst_without, worst_with;
  std::string sentence;  // how much it frees; or why not
};

/// By closed form, against the same plan with recompute=none. Throws as prepare() does.
RecomputeEffect recompute_effect(const Scenario&, const CostOf&);

}  // namespace trainyard
