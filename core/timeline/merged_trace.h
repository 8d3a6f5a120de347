// One recorded trace of those that the ranks of a run wrote, each to a file of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/timeline/recorded_trace.h"

namespace trainyard {

/// What a trace tells of its clock. Times in ns.
struct TraceClock {
  std::optional<std::int64_t> begin;                         // of its first event, since 1970
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // number, and start from that event on
};
/// What is added to the times of each so that they are of one clock, at least 0; and a sentence
/// that says how it was found.
struct AlignedClocks {
  std::vector<std::int64_t> shifts;
  std::string note;
};
/// By the beginnings where all tell one; else by the start of the first step that all mark; else
/// all begin at 0.
AlignedClocks aligned_clocks(const std::vector<TraceClock>&);

/// Ranks in order, one process a rank: what a trace says of its rank, else the number behind "rank"
/// in the name of its file; those without either come last, called as their files are. A trace of
/// several ranks keeps its processes. Times are made those of one clock; how is the last of the
/// notes.
///
/// At least one. Throws Error{InvalidInput} naming both files where two are of one rank, and as
/// check() where the one clock makes a time that is too far away.
RecordedTrace merged_trace(std::vector<RecordedTrace>);
/// The same of parts of traces whose clocks were aligned when the whole of them was looked at.
RecordedTrace merged_trace(std::vector<RecordedTrace>, const AlignedClocks&);

}  // namespace trainyard
