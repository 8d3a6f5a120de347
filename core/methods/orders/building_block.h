// This file builds schedules on a V from one building block: the positions of a microbatch's six
// passes on every device, repeated for the next microbatch six slots later. The lifetime of the
// block's microbatch divided by six is the number of microbatches whose activations a device keeps.
// Qi et al., "Pipeline Parallelism with Controllable Memory", NeurIPS 2024.
#pragma once

#include "core/program/order.h"

namespace trainyard {

/// Times are in slots, one pass each. The fields give how many slots later a pass reaches the next
/// device, and how many slots after the last pass of a leg the next leg begins at the ends of the
/// V.
struct RepeatedBlock {
  int forward_down = 1, forward_up = 1, backward_down = 1, backward_up = 1;
  int turn_forward = 1, loss = 1, turn_backward = 1;
};

/// Returns the passes in the order of their slots. The shape must have two stages per device, and
/// no two of the block's passes may fall on the same slot modulo six. A weight gradient takes the
/// next free slot.
Order repeat(const RepeatedBlock&, const ScheduleShape&);

/// Returns the same forwards and input gradients, but with weight gradients placed by the shape's
/// times: they run where their device would wait longer than they take, or where the device already
/// holds as many microbatches as the most in repeat().
Order repeat_and_fill(const RepeatedBlock&, const ScheduleShape&);

}  // namespace trainyard
