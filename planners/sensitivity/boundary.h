// How far a figure of a plan can go before it no longer fits: the largest microbatch, batch or
// sequence, the fewest devices. Both sides of the boundary are shown, the last that fits and the
// next that does not.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planners/sensitivity/sensitivity.h"

namespace trainyard {

struct KnobBoundary {
  std::string key;
  std::optional<KnobValue> last;  // that fits; nothing where none does
  std::optional<KnobValue> next;  // the first beyond it: over, or not legal; nothing where there is
                                  // no further value
  std::int64_t tried = 0;         // plans priced
  std::string sentence;           // both sides, in words
};

/// "micro-batch": among what divides a rank's samples; the global batch stays.
/// "global-batch": at the number of microbatches that the plan has, so that microbatches grow.
/// "seq": in steps of 128 tokens (of what tp and cp divide, where that is more); of a model whose
/// sequence is shorter than 1024, of that alone.
/// Memory never falls as the last two grow: a bisection finds their boundary; of the first, every
/// divisor is tried.
/// Throws Error{InvalidInput} for another key (nearest), and where the plan is not legal.
KnobBoundary largest(const Scenario&, std::string_view key, const CostOf&);
const std::vector<std::string_view>& largest_keys();

/// The fewest devices on which some mesh of the plan fits, everything but its degrees as it is.
/// Tries every mesh that a smaller number of devices allows, parts of a node or whole nodes:
/// replicas that divide the batch, stages up to the layers, tensor parallelism of parts of a node
/// and powers of two in it; so none of them fits on fewer. `next` is the closest to fitting on the
/// number before. Up to four times the cluster's devices; `last` is nothing where none fits.
KnobBoundary fewest_devices(const Scenario&, const CostOf&);

}  // namespace trainyard
