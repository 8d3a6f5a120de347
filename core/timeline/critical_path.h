// The critical path: the chain of instructions that set how long a run took, from its first instant
// to its last. Work that is not on it could have been quicker without the run ending sooner.
#pragma once

#include <optional>
#include <vector>

#include "core/timeline/metrics.h"

namespace trainyard {

struct CriticalStep {
  InstructionId id;
  Duration wait{};  // between the step before (or the start of the run) and this one, in which
                    // nothing that it waited for ran: a stream's delay, or what a measured run does
                    // not tell
};

/// In order of time. Each step starts `wait` after the one before has ended, the last ends with the
/// run: lengths and waits sum to the makespan exactly.
struct CriticalPath {
  std::vector<CriticalStep> steps;
};

/// Backwards from the instruction that ends last, each time to what ended last of all it waited
/// for: its dependencies, the instruction before it in its stream, and those of its peer, with
/// which it starts. Of equals the first in the program. Linear in the path's dependencies. The
/// program must be one that verify() accepts.
CriticalPath critical_path(const Timeline&, const Program&);

/// Where the path spent its time; the parts sum to the makespan, waits are bubble. recompute_share
/// as breakdown() takes it.
Breakdown breakdown(const CriticalPath&, const Timeline&, const Program&,
                    const std::vector<double>& recompute_share = {});

/// The step that is this instruction, or nothing. O(log n) where steps take time.
std::optional<std::size_t> place_on(const CriticalPath&, const Timeline&, InstructionId);
/// The first step that ends after the instant, or nothing after the last.
std::optional<std::size_t> step_after(const CriticalPath&, const Timeline&, Instant);

}  // namespace trainyard
