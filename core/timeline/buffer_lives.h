// When the instances of a buffer were there: one a microbatch that needs it, or one for the whole
// run.
#pragma once

#include <vector>

#include "core/timeline/timeline.h"

namespace trainyard {

/// Half-open, like a Span.
struct BufferLife {
  Instant from{}, to{};
  std::int32_t microbatch = 0;
  std::int16_t wave = 0;
  InstructionId allocated, released;  // invalid: before the run, at its end
  bool alive(Instant at) const { return from <= at && at < to; }
};

/// In order of their start, then of the program. Allocations and releases of one microbatch and
/// wave belong together in order of time; so do those left over. What is never released ends with
/// the run. Linear in the instructions.
std::vector<BufferLife> lives_of(const Timeline&, const Program&, BufferId);

}  // namespace trainyard
