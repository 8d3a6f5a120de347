// Updates of weights: in a synchronous step all of them after the last action, in an asynchronous
// order each where the order has it.
#pragma once

#include "core/lowering/lowering.h"

namespace trainyard {

/// An update that the order itself asks for, with the gradients of its own lane. `grows`: by how
/// many the older versions of its weights that are held grow or shrink.
void update_in_lane(Lowering&, std::size_t lane, const Action&, int grows);

/// After the last action of a synchronous step: each place's update waits for its reduced
/// gradients, on the first lane of its device and after all of them.
void update_after_step(Lowering&, int step);

}  // namespace trainyard
