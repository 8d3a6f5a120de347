// A split that is still to be worked out: who opens a scenario asks a planner for it
// (planners/partition/balanced_split.h), because core has none.
#pragma once

#include "core/plan/plan.h"

namespace trainyard {

/// Stands for it in a plan until then. No pipeline has such a stage, so check_split() refuses it.
inline StageSplit balanced_later() { return {{-1}}; }
inline bool is_balanced_later(const StageSplit& split) { return split == balanced_later(); }

}  // namespace trainyard
