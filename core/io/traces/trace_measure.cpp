#include "core/io/traces/trace_measure.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace trainyard {
namespace {

constexpr int kStretchBits = 54;  // a stretch is 2^54 ns, 208 days

}  // namespace

std::optional<std::int64_t> step_number(std::string_view name) {
  constexpr std::string_view kMark = "ProfilerStep#";
  const std::size_t at = name.find(kMark);
  if (at == std::string_view::npos) return {};
  name.remove_prefix(at + kMark.size());
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
  if (error != std::errc() || end == name.data()) return {};
  return value;
}

MarkedSteps whole_steps(MarkedSteps of_streams, const MarkedSteps& of_host) {
  if (of_streams.empty()) return of_host;
  for (auto step = of_streams.begin(); step != of_streams.end(); ++step) {
    std::int64_t& to = step->second.second;
    const auto next = std::next(step);
    const auto host = of_host.find(step->first);
    if (next != of_streams.end() && next->first == step->first + 1)
      to = std::max(to, next->second.first);
    else if (host != of_host.end())
      to = std::max(to, host->second.second);
  }
  return of_streams;
}

void TraceMeasure::time(std::int64_t from, std::int64_t to) {
  Stretch& stretch = stretches_[from >> kStretchBits];
  ++stretch.count;
  stretch.first = std::min(stretch.first, from);
  stretch.last = std::max(stretch.last, to);
}

void TraceMeasure::step(std::int64_t number, bool stream, std::int64_t from, std::int64_t to) {
  const auto [found, fresh] =
      (stream ? steps_of_streams_ : steps_of_host_).emplace(number, std::pair(from, to));
  if (fresh) return;
  found->second.first = std::min(found->second.first, from);
  found->second.second = std::max(found->second.second, to);
}

TraceExtent TraceMeasure::extent(std::uint64_t events, Bytes text) const {
  TraceExtent found;
  found.text = text;
  found.events = events;
  found.spans = spans_;
  std::uint64_t all = 0, before = 0;
  for (const auto& [number, stretch] : stretches_) all += stretch.count;
  std::int64_t middle = 0;
  for (const auto& [number, stretch] : stretches_) {
    if (before <= all / 2) middle = number;
    before += stretch.count;
  }
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  for (const auto& [number, stretch] : stretches_)
    if (std::abs(number - middle) <= 1) {
      first = std::min(first, stretch.first);
      last = std::max(last, stretch.last);
    }
  if (first > last) first = last = 0;
  last = std::min(last, first + kFarthestRecorded.count());
  found.base = first;
  found.end = Instant{std::max<std::int64_t>(1, last - first)};
  for (const auto& [number, step] : whole_steps(steps_of_streams_, steps_of_host_))
    found.steps.push_back({number, Instant{step.first - first}, Instant{step.second - first}});
  std::stable_sort(found.steps.begin(), found.steps.end(),
                   [](const ExtentStep& a, const ExtentStep& b) { return a.from < b.from; });
  return found;
}

}  // namespace trainyard
