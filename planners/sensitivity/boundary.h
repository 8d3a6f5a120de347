// Finds how far a figure of a plan can go before the plan no longer fits: the largest microbatch,
// batch or sequence, or the fewest devices. Both sides of the boundary are reported, the last value
// that fits and the next one that does not.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planners/sensitivity/sensitivity.h"

namespace trainyard {

struct KnobBoundary {
  std::string key;
  std::optional<KnobValue> last;  // the last value that fits; empty if none does
  // The first value beyond it, which does not fit or is not legal; empty if there is no further
  // value.
  std::optional<KnobValue> next;
  std::int64_t tried = 0;  // number of plans priced
  std::string sentence;    // both sides, in words
};

/// Finds the largest value of a key at which the plan fits. "micro-batch" ranges over the divisors
/// of a rank's samples at a constant global batch. "global-batch" grows the microbatches at the
/// plan's number of microbatches. "seq" goes in steps of 128 tokens, or of the multiple that tp and
/// cp require if that is larger; for a model whose sequence is shorter than 1024, in steps of that
/// sequence. Memory never falls as the last two grow, so bisection finds their boundary; for the
/// first, every divisor is tried. Throws Error{InvalidInput} for another key (naming the nearest),
/// and if the plan is not legal.
KnobBoundary largest(const Scenario&, std::string_view key, const CostOf&);
const std::vector<std::string_view>& largest_keys();

/// Finds the fewest devices on which some mesh of the plan fits, with everything but its degrees
/// unchanged. For each number of devices (parts of a node, or whole nodes) it tries every mesh
/// whose replicas divide the batch, with up to as many stages as layers and with tensor parallelism
/// of parts of a node and powers of two within it, so that none of these fits on fewer devices.
/// `next` is the mesh closest to fitting on the previous number of devices. Goes up to four times
/// the cluster's devices; `last` is empty if nothing fits.
KnobBoundary fewest_devices(const Scenario&, const CostOf&);

}  // namespace trainyard
