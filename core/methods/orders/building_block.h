// Schedules of a V made of one building block: where the six passes of a microbatch sit on every
// device, repeated for each microbatch after six slots. How long a block's microbatch lives over
// six is what a device keeps of activations. Qi et al., "Pipeline Parallelism with Controllable
// Memory", NeurIPS 2024.
#pragma once

#include "core/program/order.h"

namespace trainyard {

/// In slots, a pass each. A pass reaches the next device that many slots later; at the ends of the
/// V the next leg begins so many slots after the last pass of the leg before.
struct BuildingBlock {
  int forward_down = 1, forward_up = 1, backward_down = 1, backward_up = 1;
  int turn_forward = 1, loss = 1, turn_backward = 1;
};

/// The passes in the order of their slots. The shape has two stages a device, and no two of the
/// block's passes may meet in one slot modulo six. A weight gradient takes the next slot that is
/// left over.
Order repeat(const BuildingBlock&, const ScheduleShape&);

/// The same forwards and input gradients; a weight gradient fills the time in which its device
/// would wait longer than it takes, under the shape's times, or makes room where the device holds
/// as much as any does in repeat().
Order repeat_and_fill(const BuildingBlock&, const ScheduleShape&);

}  // namespace trainyard
