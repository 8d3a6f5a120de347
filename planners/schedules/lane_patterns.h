// Makes families of regular lanes of forwards and input gradients, into which weight gradients can
// then be placed.
#pragma once

#include "planners/schedules/weight_placement.h"

namespace trainyard {

/// One stage per device: each device d first runs forwards[d] forwards, then alternates a gradient
/// and a forward. With p devices, p - d gives 1F1B, and ZB-H1 once weight gradients are placed; 2
/// (p - d) - 1 gives ZB-H2 (Qi et al., ICLR 2024).
Travelling warm_up(const Pipeline&, const std::vector<std::int32_t>& forwards);

/// Warm-up lengths on a line from `first` on device 0 down to 1 on the last device; each is rounded
/// down after `lift` is added.
std::vector<std::int32_t> line_of_warm_ups(const Pipeline&, int first, double lift);

/// The forwards and input gradients of the lanes, without weight gradients.
Travelling travelling_of(const Pipeline&, const Lanes&);

}  // namespace trainyard
