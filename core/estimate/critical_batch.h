// The critical batch of a plan is the batch at which its step reaches a share (95 %) of its peak
// throughput. A synchronous step of m microbatches takes fixed + each * m: what it does once (the
// fill and drain of a pipeline, exposed reductions, the update) and what it does for every
// microbatch. Throughput m / (fixed + each * m) rises towards 1 / each, and reaches the share s of
// it at m = s / (1 - s) * fixed / each. This is the distributed form of the roofline's knee: beyond
// it a larger batch buys little time, before it the network and the pipeline idle the devices.
#pragma once

#include <cstdint>
#include <functional>

#include "core/base/units.h"

namespace trainyard {

inline constexpr double kCriticalShare = 0.95;

struct CriticalBatch {
  double fixed = 0, each = 0;  // seconds per step and per microbatch
  double microbatches = 0;     // of one replica at the critical batch; fractions are between two
  bool at_once = false;        // the fewest microbatches of a step attain the share already
};

/// Returns the time of a step with so many microbatches per replica.
using StepOf = std::function<Duration(std::int64_t microbatches)>;

/// Follows the formula, from the steps of 4 and 8 times `multiple` microbatches; steps have
/// multiples of it alone, as a pipeline's. Throws what the step throws.
CriticalBatch predicted_critical_batch(const StepOf&, std::int64_t multiple);
/// Searches: finds the first multiple whose throughput is the share of the peak, interpolated to
/// the one before. The peak is the throughput of the microbatches that are added last, far beyond
/// the prediction, which says how far. Calls the step some ten times; throws what it throws, and
/// Error{Unsupported} where throughput keeps rising.
CriticalBatch searched_critical_batch(const StepOf&, std::int64_t multiple,
                                      const CriticalBatch& predicted);

}  // namespace trainyard
