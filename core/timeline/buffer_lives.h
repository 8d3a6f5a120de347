// This file finds when the instances of a buffer were alive: one per microbatch that needs it, or
// one for the whole run.
#pragma once

#include <vector>

#include "core/timeline/timeline.h"

namespace trainyard {

/// A BufferLife is half-open like a Span.
struct BufferLife {
  Instant from{}, to{};
  std::int32_t microbatch = 0;
  std::int16_t wave = 0;
  InstructionId allocated, released;  // invalid: allocated before the run, released at its end
  bool alive(Instant at) const { return from <= at && at < to; }
};

/// Returns the lives in order of their start, then of the program. Allocations and releases of one
/// microbatch and wave are matched in order of time, and so are those that remain. What is never
/// released ends with the run. Takes time linear in the instructions.
std::vector<BufferLife> lives_of(const Timeline&, const Program&, BufferId);

}  // namespace trainyard
