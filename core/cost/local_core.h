// This file computes by formula how long one kernel keeps a core of this machine busy. Runs of the
// CPU backend are predicted by it where nothing was measured, and it is the form by which measured
// kernels are extrapolated to other sizes.
#pragma once

#include "core/cluster/device.h"
#include "core/model/op.h"

namespace trainyard {

/// CoreTime has the three parts of a kernel's time, in seconds. They add up, because a core packs
/// the operands of a product before it multiplies them.
struct CoreTime {
  double start = 0, arithmetic = 0, traffic = 0;
  double seconds() const { return start + arithmetic + traffic; }
};

/// Throws Error{Unsupported} for a product in a format for which the device has no peak.
CoreTime local_core_time(const Work&, const Device&);

}  // namespace trainyard
