// What no order of a pipeline can beat.
#pragma once

#include "planners/schedules/pipeline.h"

namespace trainyard {

/// From an action's end to the end of everything that must follow it, less the head of the device
/// where that ends if spans are asked for. By stage.
struct Tails {
  std::vector<Ticks> forward, input, weight;
};
Tails tails_of(const Pipeline&, ScheduleObjective);

/// Before which a stage's first forward and first backward cannot begin. By stage.
struct Heads {
  std::vector<Ticks> forward, input;
};
Heads heads_of(const Pipeline&);

/// The greatest of: a device's work between its head and its tail, idle while it has forwards for
/// no more microbatches than its memory holds and waits for the first gradient, and again from its
/// last forward on; a stage's passes between its head and tail; memory times time, for a microbatch
/// is held while it goes to the end of the pipeline and back. Of Span, a bound for orders in which
/// microbatches pass every stage in the same order.
Ticks lower_bound(const Pipeline&, ScheduleObjective);

}  // namespace trainyard
