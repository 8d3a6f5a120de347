// One recorded trace of those that the ranks of a run wrote, each to a file of its own.
#pragma once

#include <vector>

#include "core/timeline/recorded_trace.h"

namespace trainyard {

/// Ranks in order, one process a rank: what a trace says of its rank, else the number behind "rank"
/// in the name of its file; those without either come last, called as their files are. A trace of
/// several ranks keeps its processes. Times are made those of one clock by the epochs of the traces
/// where all have one; else by the start of the first step that all mark; else all begin at 0.
/// Which it was is the last of the notes.
///
/// At least one. Throws Error{InvalidInput} naming both files where two are of one rank, and as
/// check() where the one clock makes a time that is too far away.
RecordedTrace merged_trace(std::vector<RecordedTrace>);

}  // namespace trainyard
