// Families of regular lanes of forwards and input gradients, for weight gradients to be put into.
#pragma once

#include "planners/schedules/weight_placement.h"

namespace trainyard {

/// One stage a device: so many forwards at first, then a gradient and a forward in turn. p - d
/// gives 1F1B and with weight gradients put in ZB-H1, 2 (p - d) - 1 gives ZB-H2 (Qi et al., ICLR
/// 2024).
Travelling warm_up(const Pipeline&, const std::vector<std::int32_t>& forwards);

/// A line of warm-ups from `first` on device 0 down to 1 on the last, each rounded down after
/// `lift` is added.
std::vector<std::int32_t> line_of_warm_ups(const Pipeline&, int first, double lift);

/// The lanes' forwards and input gradients alone.
Travelling travelling_of(const Pipeline&, const Lanes&);

}  // namespace trainyard
