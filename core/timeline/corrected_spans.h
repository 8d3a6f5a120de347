// Recording takes time, which a profile then shows as the program's own. The time of one record is
// calibrated by running the same work with and without it, and is taken out of the profile at the
// instant of each record: every span around it becomes shorter, and all that follows on its thread
// moves earlier (Gleeson et al., "RL-Scope", MLSys 2021).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <ratio>
#include <vector>

#include "core/timeline/nested_spans.h"

namespace trainyard {

/// A record takes some tens of nanoseconds, so that whole ones would be off by percents.
using Picoseconds = std::chrono::duration<std::int64_t, std::pico>;

/// PairedTimes are those of one piece of work, run without and then with spans of one level.
struct PairedTimes {
  Duration without{}, with{};
};
/// Returns what one span of the level adds: the median over the pairs of (with - without) / spans,
/// of an even number the lower middle, and 0 where that is negative. There must be a pair, and at
/// least one span.
Picoseconds span_overhead(const std::vector<PairedTimes>&, std::int64_t spans);

/// SpanOverheads say what one span of each level adds, by the level's number; nothing where it was
/// not measured.
struct SpanOverheads {
  std::array<std::optional<Picoseconds>, kSpanLevels> each;
  /// What it takes to pass all places where a recorder might note something, for each span that it
  /// does note, of whatever level.
  Picoseconds passing{};
};

/// Takes the overheads out: half of a span's when it begins and half when it ends, each right after
/// the instant that is noted. No time becomes negative: where less time has passed than records are
/// said to have taken, the rest is taken from what follows. Order and nesting stay. The whole ends
/// with the first thread, or with a later one that moved less. Waits for another thread are not
/// known, and become no shorter by what it no longer does. Throws Error{InvalidInput} where a
/// recorded level has spans and no overhead.
NestedSpans corrected(const NestedSpans&, const SpanOverheads&);

}  // namespace trainyard
