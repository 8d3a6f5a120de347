// This file merges the traces of a run's ranks, each recorded to a file of its own, into one
// recorded trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/timeline/recorded_trace.h"

namespace trainyard {

/// A TraceClock is what a trace reveals of its clock. Times are in ns.
struct TraceClock {
  std::optional<std::int64_t> begin;                         // start of its first event, since 1970
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // number, and start relative to that
                                                             // event
};
/// AlignedClocks holds what is added to the times of each trace to put them on one clock (at least
/// 0), and a sentence that says how it was found.
struct AlignedClocks {
  std::vector<std::int64_t> shifts;
  std::string note;
};
/// Aligns by the start of the first event where all traces state it; else by the start of the first
/// step that all mark; else all begin at 0.
AlignedClocks aligned_clocks(const std::vector<TraceClock>&);

/// Ranks are in order, with one process per rank. The rank of a trace is the one that it states,
/// else the number after "rank" in its file's name; traces without either come last and are named
/// after their files. A trace of several ranks keeps its processes. Times are put on one clock, and
/// the last of the notes says how.
///
/// There must be at least one trace. Throws Error{InvalidInput} naming both files where two are of
/// the same rank, and as check() where the common clock moves a time too far away.
RecordedTrace merged_trace(std::vector<RecordedTrace>);
/// Does the same for parts of traces whose clocks were aligned from the whole traces.
RecordedTrace merged_trace(std::vector<RecordedTrace>, const AlignedClocks&);

}  // namespace trainyard
