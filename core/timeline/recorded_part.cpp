// This file takes a part of a recorded trace: what touches a range of its time.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/timeline/recorded_trace.h"

namespace trainyard {
namespace {

bool touches(std::int64_t start, std::int64_t end, std::int64_t from, std::int64_t to) {
  return start < to && (end > from || (start == end && start == from));
}

RecordedCounter cut(const RecordedCounter& counter, std::int64_t from, std::int64_t to) {
  RecordedCounter kept{counter.process, counter.name, counter.bytes, {}, {}};
  for (std::size_t i = 0; i < counter.at.size() && counter.at[i] < to; ++i) {
    const std::int64_t at = std::max(counter.at[i], from);
    if (!kept.at.empty() && kept.at.back() == at) {
      kept.value.back() = counter.value[i];
      continue;
    }
    kept.at.push_back(at);
    kept.value.push_back(counter.value[i]);
  }
  return kept;
}

}  // namespace

RecordedTrace part_of(RecordedTrace trace, Instant from, Instant to) {
  const RecordedPart before = recorded_part(trace);
  if (std::max(from, before.from) < std::min(to, before.to)) {
    from = std::max(from, before.from);
    to = std::min(to, before.to);
  }
  const std::int64_t first = from.count(), last = to.count();
  std::vector<RecordedRow> rows;
  std::size_t kept = 0;
  for (const RecordedRow& row : trace.rows) {
    RecordedRow made{row.thread, 0, kept, 0};
    for (std::uint64_t i = row.first; i < row.first + row.count; ++i) {
      if (!touches(trace.start[i], trace.end[i], first, last)) continue;
      trace.start[kept] = trace.start[i];
      trace.end[kept] = trace.end[i];
      trace.name[kept] = trace.name[i];
      if (!trace.sizes.empty()) trace.sizes[kept] = trace.sizes[i];
      trace.category[kept++] = trace.category[i];
      ++made.count;
    }
    if (made.count == 0) continue;
    if (!rows.empty() && rows.back().thread == row.thread) made.depth = rows.back().depth + 1;
    rows.push_back(made);
  }
  trace.rows = std::move(rows);
  trace.start.resize(kept);
  trace.end.resize(kept);
  trace.name.resize(kept);
  trace.category.resize(kept);
  if (!trace.sizes.empty()) trace.sizes.resize(kept);
  for (RecordedCounter& counter : trace.counters) counter = cut(counter, first, last);
  std::erase_if(trace.steps,
                [&](const RecordedStep& step) { return step.from < from || step.to > to; });
  std::erase_if(trace.collectives, [&](const RecordedCollective& one) {
    return !touches(one.from.count(), one.to.count(), first, last);
  });
  trace.part = RecordedPart{from, to, before.whole};
  return trace;
}

}  // namespace trainyard
