// This file says how much of a run's communication a recording shows beside computation of the same
// rank, and how much the rank waited for.
#pragma once

#include <vector>

#include "core/cost/calibrated.h"
#include "core/timeline/recorded_trace.h"

namespace trainyard {

/// RecordedOverlap is what one kind of communication took in a step of one process.
struct RecordedOverlap {
  ExposedCommunication of;  // its kind, ranks, and the share during which nothing was computed
  Duration time{};          // where streams communicate side by side, each
};

/// Reads the steps that recorded_units() reads, by kind and ranks where the profiler states them,
/// else all communication as one. Computation is what any stream of the same process computes; a
/// copy is none. Empty where no stream communicates.
std::vector<RecordedOverlap> recorded_overlaps(const RecordedTrace&);

}  // namespace trainyard
