// This file marks a split of layers that is still to be worked out. Core has no planner, so the
// code that opens a scenario asks one for the split (planners/partition/balanced_split.h).
#pragma once

#include "core/plan/plan.h"

namespace trainyard {

/// Returns the placeholder that stands in a plan until the split is known. No pipeline has a stage
/// of -1 layers, so check_split() refuses the placeholder.
inline StageSplit balanced_later() { return {{-1}}; }
inline bool is_balanced_later(const StageSplit& split) { return split == balanced_later(); }

}  // namespace trainyard
