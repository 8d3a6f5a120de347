// The offset between the waves that tick-tock runs on one device, as a plan states it.
#pragma once

#include <optional>

#include "core/plan/plan.h"

namespace trainyard {

/// True if several waves of the plan share a device, so that it can delay one against another.
bool states_wave_offset(const Plan&);
/// Returns the part of a cycle, in [0, 1], by which each wave starts behind the one before it. A
/// cycle is the forward and backward of one microbatch, alone on the device. Empty where the plan
/// states no offset or has the policy exclusive, which delays no wave.
std::optional<double> wave_offset(const Plan&);

}  // namespace trainyard
