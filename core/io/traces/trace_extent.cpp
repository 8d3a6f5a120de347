#include "core/io/traces/trace_extent.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/base/units_text.h"

namespace trainyard {
namespace {

// StepsByNumber merges steps with the same number.
class StepsByNumber {
 public:
  void add(std::int64_t number, Instant from, Instant to) {
    const auto [known, fresh] = steps_.emplace(number, ExtentStep{number, from, to});
    known->second.from = std::min(known->second.from, from);
    known->second.to = std::max(known->second.to, to);
  }
  std::vector<ExtentStep> by_start() const {
    std::vector<ExtentStep> list;
    for (const auto& [number, step] : steps_) list.push_back(step);
    std::stable_sort(list.begin(), list.end(),
                     [](const ExtentStep& a, const ExtentStep& b) { return a.from < b.from; });
    return list;
  }

 private:
  std::map<std::int64_t, ExtentStep> steps_;
};

}  // namespace

TraceExtent extent_of(const RecordedTrace& trace) {
  TraceExtent found;
  found.base = trace.base;
  found.end = trace.part ? trace.part->whole : end_of(trace);
  found.events = trace.events;
  found.spans = trace.start.size();
  found.epoch = trace.epoch;
  StepsByNumber steps;
  for (const RecordedStep& step : trace.steps) steps.add(step.number, step.from, step.to);
  found.steps = steps.by_start();
  return found;
}

AlignedClocks clocks_of(const std::vector<TraceExtent>& extents) {
  std::vector<TraceClock> clocks;
  for (const TraceExtent& each : extents) {
    TraceClock& clock = clocks.emplace_back();
    if (each.epoch) clock.begin = *each.epoch + each.base;
    for (const ExtentStep& step : each.steps)
      clock.steps.emplace_back(step.number, step.from.count());
  }
  return aligned_clocks(clocks);
}

TraceExtent together(const std::vector<TraceExtent>& extents, const AlignedClocks& clocks) {
  TraceExtent whole;
  StepsByNumber steps;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const TraceExtent& each = extents[i];
    const Duration shift{clocks.shifts[i]};
    whole.text += each.text;
    whole.events += each.events;
    whole.spans += each.spans;
    whole.end = std::max(whole.end, each.end + shift);
    if (shift == Duration{}) whole.base = each.base, whole.epoch = each.epoch;
    for (const ExtentStep& step : each.steps)
      steps.add(step.number, step.from + shift, step.to + shift);
  }
  whole.steps = steps.by_start();
  return whole;
}

std::optional<TraceRange> range_in(const TraceExtent& one, std::int64_t shift,
                                   const TraceRange& range) {
  const Instant from = std::max(Instant{0}, range.from - Duration{shift});
  const Instant to = std::min(one.end, range.to - Duration{shift});
  if (to <= from) return {};
  return TraceRange{from, to, one.base, one.end};
}

TraceRange range_within(const TraceExtent& extent, Instant from, Instant to, const Place& place) {
  const std::string spans = fmt::format("the recording is from 0 s to {}", readable(extent.end));
  const std::string found = fmt::format("{} to {}", readable(from), readable(to));
  if (to <= from)
    throw Error(
        Error::Kind::InvalidInput,
        fmt::format("expected a range that ends after it starts, found {}; {}", found, spans),
        place);
  if (from >= extent.end || to <= Instant{0})
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected a range within the recording, found {}; {}", found, spans),
                place);
  return {std::max(from, Instant{0}), std::min(to, extent.end), extent.base, extent.end};
}

ImportCost import_cost(const TraceExtent& extent, double share) {
  const double seconds = static_cast<double>(extent.text.value) / kTextASecond;
  const double bytes = static_cast<double>(extent.spans) * std::clamp(share, 0.0, 1.0) *
                       static_cast<double>(kBytesOfSpan);
  return {Bytes{std::llround(bytes)}, Duration{std::llround(seconds * 1e9)}};
}

}  // namespace trainyard
