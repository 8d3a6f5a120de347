// How long one piece of work keeps a device busy: the larger of what its arithmetic and its memory
// traffic take (Williams, Waterman, Patterson 2009), each at the share of the datasheet figure that
// real kernels reach.
#pragma once

#include "core/cluster/device.h"
#include "core/model/op.h"

namespace trainyard {

/// Length of the inner dimension at which half of a product's time is spent outside the ceiling:
/// time = ceiling time x (1 + 200 / K). Fitted on published runs, 2026-11; 8-bit operands take
/// twice that.
inline constexpr double kInnerLength = 200;

/// Seconds of arithmetic at the given ceiling; `inner` is kInnerLength or 0. 0 for work that is
/// bound by memory alone. Throws Error{Unsupported} for a product in a format that the device has
/// no peak for.
double arithmetic_seconds(const Work&, const Device&, const Efficiency&, double inner);
/// Seconds of moving what it reads and writes.
double traffic_seconds(const Work&, const Device&, const Efficiency&);

}  // namespace trainyard
