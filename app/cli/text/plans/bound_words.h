// The words of --bound, which plan, scaling and render share.
#pragma once

#include <vector>

#include "app/cli/verb.h"
#include "planners/plans/plan_space.h"

namespace trainyard {

/// Returns what each --bound KEY=VALUES says. Throws Error{InvalidInput} where the key or the
/// values are missing; whether the knob exists is the space's to say.
std::vector<Bound> bounds_of(const Words&);

}  // namespace trainyard
