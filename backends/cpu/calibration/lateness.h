// This file says what a rehearsal repeats of an asynchronous plan: its updates are corrected, and
// write versions of weights beside those that are still to be read.
#pragma once

#include <vector>

#include "core/lowering/workload.h"
#include "core/methods/precision/update_rule.h"

namespace trainyard {

/// The rule of a stage whose gradients are two updates late.
UpdateRule late_rule(const Plan&);
/// The most older versions of its weights that each stage holds at once.
std::vector<int> older_versions(const Workload&);

}  // namespace trainyard
