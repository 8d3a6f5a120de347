// This file computes how long one piece of work keeps a device busy: the larger of the times of its
// arithmetic and its memory traffic (Williams, Waterman, Patterson 2009), each at the share of the
// datasheet figure that real kernels reach.
#pragma once

#include "core/cluster/device.h"
#include "core/model/op.h"

namespace trainyard {

/// Length of the inner dimension at which half of a product's time is overhead: time = ideal time x
/// (1 + 200 / K). Fitted on published runs, 2026-11; 8-bit operands need twice that length.
inline constexpr double kInnerLength = 200;

/// Returns the seconds of arithmetic at the given efficiencies; `inner` is kInnerLength or 0. 0 for
/// work that is bound by memory alone. Throws Error{Unsupported} for a product in a format for
/// which the device has no peak.
double arithmetic_seconds(const Work&, const Device&, const Efficiency&, double inner);
/// Returns the seconds of moving what the work reads and writes.
double traffic_seconds(const Work&, const Device&, const Efficiency&);

}  // namespace trainyard
