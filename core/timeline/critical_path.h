// The critical path is the chain of instructions that determines how long a run took, from its
// first instant to its last. Making work that is not on it quicker would not end the run sooner.
#pragma once

#include <optional>
#include <vector>

#include "core/timeline/metrics.h"

namespace trainyard {

struct CriticalStep {
  InstructionId id;
  Duration wait{};  // time between the step before (or the start of the run) and this one in which
                    // nothing ran that it waited for: a stream's delay, or what a measured run does
                    // not record
};

/// The steps are in order of time. Each starts `wait` after the one before has ended, and the last
/// ends with the run, so lengths and waits sum exactly to the makespan.
struct CriticalPath {
  std::vector<CriticalStep> steps;
};

/// Walks back from the instruction that ends last, each time to the one that ended last of all it
/// waited for: its dependencies, the instruction before it in its stream, and those of its peer,
/// with which it starts. Of equal ones the first in the program is taken. Takes time linear in the
/// path's dependencies. The program must be one that verify() accepts.
CriticalPath critical_path(const Timeline&, const Program&);

/// Returns where the path spent its time; the parts sum to the makespan, and waits count as bubble.
/// recompute_share is as breakdown() takes it.
Breakdown breakdown(const CriticalPath&, const Timeline&, const Program&,
                    const std::vector<double>& recompute_share = {});

/// Returns the index of the step with this instruction, or nothing. Takes O(log n) where steps take
/// time.
std::optional<std::size_t> place_on(const CriticalPath&, const Timeline&, InstructionId);
/// Returns the first step that ends after the instant; nothing after the last step.
std::optional<std::size_t> step_after(const CriticalPath&, const Timeline&, Instant);

}  // namespace trainyard
