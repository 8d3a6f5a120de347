#include "core/validation/recorded_overlap.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "core/validation/recorded_units.h"

namespace trainyard {
namespace {

using Spans = std::vector<std::pair<std::int64_t, std::int64_t>>;
using Communicated = std::pair<std::optional<CollectiveKind>, std::int64_t>;

struct CommunicatedTime {
  std::int64_t all = 0, exposed = 0;
};

bool computes(RecordedKind kind) {
  return kind != RecordedKind::Communication && kind != RecordedKind::Transfer &&
         kind != RecordedKind::Host;
}

// Returns the spans of a process's streams that `wanted` takes, by start.
template <class Wanted>
Spans spans_of(const RecordedTrace& trace, std::uint32_t process, const Wanted& wanted) {
  Spans spans;
  for (const RecordedRow& row : trace.rows) {
    const RecordedThread& thread = trace.threads[row.thread];
    if (!thread.device || thread.process != process) continue;
    for (std::uint64_t i = row.first; i < row.first + row.count; ++i)
      if (wanted(static_cast<RecordedKind>(trace.category[i])))
        spans.emplace_back(trace.start[i], trace.end[i]);
  }
  std::sort(spans.begin(), spans.end());
  return spans;
}

Spans joined_spans(const Spans& spans) {
  Spans whole;
  for (const auto& [from, to] : spans)
    if (whole.empty() || from > whole.back().second)
      whole.emplace_back(from, to);
    else
      whole.back().second = std::max(whole.back().second, to);
  return whole;
}

// Returns how much of [from, to) none of the spans covers, which are apart and by start.
std::int64_t bare(const Spans& spans, std::int64_t from, std::int64_t to) {
  std::int64_t left = to - from;
  auto at = std::upper_bound(spans.begin(), spans.end(), std::pair(from, from),
                             [](const auto& a, const auto& b) { return a.first < b.second; });
  if (at != spans.begin()) --at;
  for (; at != spans.end() && at->first < to; ++at)
    left -= std::max<std::int64_t>(0, std::min(to, at->second) - std::max(from, at->first));
  return left;
}

}  // namespace

std::vector<RecordedOverlap> recorded_overlaps(const RecordedTrace& trace) {
  std::map<Communicated, CommunicatedTime> times;
  std::int64_t steps = 0;
  for (std::uint32_t process = 0; process < trace.processes.size(); ++process) {
    const std::vector<RecordedStep> own = measured_steps(trace, process);
    const Spans computed = joined_spans(spans_of(trace, process, computes));
    bool any = false;
    const auto add = [&](Communicated of, std::int64_t from, std::int64_t to) {
      any = true;
      if (!own.empty() && std::none_of(own.begin(), own.end(), [&](const RecordedStep& step) {
            return from >= step.from.count() && from < step.to.count();
          }))
        return;
      CommunicatedTime& time = times[of];
      time.all += to - from, time.exposed += bare(computed, from, to);
    };
    if (trace.collectives.empty())
      for (const auto& [from, to] : spans_of(trace, process, [](RecordedKind kind) {
             return kind == RecordedKind::Communication;
           }))
        add({}, from, to);
    for (const RecordedCollective& one : trace.collectives)
      if (one.process == process && one.kind)
        add({one.kind, trace.groups[one.group].size}, one.from.count(), one.to.count());
    if (any) steps += static_cast<std::int64_t>(std::max<std::size_t>(1, own.size()));
  }
  std::vector<RecordedOverlap> found;
  for (const auto& [of, time] : times)
    if (time.all > 0)
      found.push_back(
          {{of.first, of.second, static_cast<double>(time.exposed) / static_cast<double>(time.all)},
           Duration{time.all / std::max<std::int64_t>(1, steps)}});
  return found;
}

}  // namespace trainyard
