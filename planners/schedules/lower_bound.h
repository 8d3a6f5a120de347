// Computes lower bounds that no order of a pipeline can beat.
#pragma once

#include "planners/schedules/pipeline.h"

namespace trainyard {

/// By stage: the least time from an action's end to the end of everything that must follow it. If
/// spans are asked for, it is reduced by the head of the device on which that ends.
struct Tails {
  std::vector<Ticks> forward, input, weight;
};
Tails tails_of(const Pipeline&, ScheduleObjective);

/// By stage: the earliest times at which its first forward and first backward can begin.
struct Heads {
  std::vector<Ticks> forward, input;
};
Heads heads_of(const Pipeline&);

/// The greatest of these bounds. First, a device's work between its head and its tail: it is idle
/// when it has run as many forwards as its memory holds and waits for the first gradient, and again
/// after its last forward. Second, a stage's passes between its head and its tail. Third, memory
/// times time, because a microbatch is held while it travels to the end of the pipeline and back.
/// For Span the bound covers orders in which microbatches pass every stage in the same order.
Ticks lower_bound(const Pipeline&, ScheduleObjective);

}  // namespace trainyard
