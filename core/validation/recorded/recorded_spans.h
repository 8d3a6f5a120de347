// RecordedSpans are the times at which a process did one sort of work, by which what ran beside
// which is found.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/timeline/recorded_trace.h"

namespace trainyard {

/// Half-open, in ns, by start.
using RecordedSpans = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// Returns whether it is work of the device itself, and no communication, copy or call of the host.
bool computes(RecordedKind);

/// Returns the spans of a process's streams that `wanted` takes.
template <class Wanted>
RecordedSpans recorded_spans(const RecordedTrace& trace, std::uint32_t process,
                             const Wanted& wanted) {
  RecordedSpans spans;
  for (const RecordedRow& row : trace.rows) {
    const RecordedThread& thread = trace.threads[row.thread];
    if (!thread.device || thread.process != process) continue;
    for (std::uint64_t i = row.first; i < row.first + row.count; ++i)
      if (wanted(static_cast<RecordedKind>(trace.category[i])))
        spans.emplace_back(trace.start[i], trace.end[i]);
  }
  return spans;
}

/// Returns what any of the spans covers, in spans that are apart. They may come in any order.
RecordedSpans joined_spans(RecordedSpans);

/// Returns how much of [from, to) none of the spans covers, which are joined.
std::int64_t bare(const RecordedSpans&, std::int64_t from, std::int64_t to);

}  // namespace trainyard
