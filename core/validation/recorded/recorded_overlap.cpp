#include "core/validation/recorded/recorded_overlap.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "core/validation/recorded/recorded_spans.h"
#include "core/validation/recorded/recorded_units.h"

namespace trainyard {
namespace {

using Communicated = std::pair<std::optional<CollectiveKind>, std::int64_t>;

struct CommunicatedTime {
  std::int64_t all = 0, exposed = 0;
};

}  // namespace

std::vector<RecordedOverlap> recorded_overlaps(const RecordedTrace& trace) {
  std::map<Communicated, CommunicatedTime> times;
  std::int64_t steps = 0;
  for (std::uint32_t process = 0; process < trace.processes.size(); ++process) {
    const std::span<const RecordedStep> own = measured_steps(trace, process);
    const RecordedSpans computed = joined_spans(recorded_spans(trace, process, computes));
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
      for (const auto& [from, to] : recorded_spans(trace, process, [](RecordedKind kind) {
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
