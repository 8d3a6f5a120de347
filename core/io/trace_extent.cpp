#include "core/io/trace_extent.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/base/units_text.h"

namespace trainyard {
TraceExtent extent_of(const RecordedTrace& trace) {
  TraceExtent found;
  found.base = trace.base;
  found.end = trace.part ? trace.part->whole : end_of(trace);
  found.events = trace.events;
  found.spans = trace.start.size();
  std::map<std::int64_t, ExtentStep> steps;
  for (const RecordedStep& step : trace.steps) {
    const ExtentStep made{step.number, step.from, step.to};
    const auto [known, fresh] = steps.emplace(step.number, made);
    known->second.from = std::min(known->second.from, step.from);
    known->second.to = std::max(known->second.to, step.to);
  }
  for (const auto& [number, step] : steps) found.steps.push_back(step);
  std::stable_sort(found.steps.begin(), found.steps.end(),
                   [](const ExtentStep& a, const ExtentStep& b) { return a.from < b.from; });
  return found;
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
