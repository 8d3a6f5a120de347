#include "core/methods/closed_form.h"

#include <algorithm>
#include <numeric>

namespace trainyard {
namespace {

Duration sum(const std::vector<Duration>& list) {
  return std::accumulate(list.begin(), list.end(), Duration{});
}
Duration longest(const std::vector<Duration>& list) {
  return *std::max_element(list.begin(), list.end());
}

// The pace of steady 1F1B: stages s to t hold t - s + 1 microbatches between them, and one round
// through all of them, transfers included, lets each of those advance by one.
Duration pace(const std::vector<Duration>& round, Duration transfer) {
  Duration slowest{};
  for (std::size_t s = 0; s < round.size(); ++s) {
    Duration path = -2 * transfer;
    for (std::size_t t = s; t < round.size(); ++t) {
      path += round[t] + 2 * transfer;
      slowest = std::max(slowest, path / static_cast<std::int64_t>(t - s + 1));
    }
  }
  return slowest;
}

}  // namespace

PipelineEstimate gpipe_closed_form(const ScheduleShape& shape, const PipelineTimes& times) {
  const auto hops = static_cast<std::int64_t>(times.forward.size() - 1);
  const std::int64_t m = shape.microbatches;
  const Duration transfer = hops > 0 ? times.transfer : Duration{};
  PipelineEstimate found;
  found.span = sum(times.forward) + sum(times.backward) + 2 * hops * transfer +
               (m - 1) * (std::max(longest(times.forward), transfer) +
                          std::max(longest(times.backward), transfer));
  found.live.assign(times.forward.size(), shape.microbatches);
  return found;
}

PipelineEstimate one_f_one_b_closed_form(const ScheduleShape& shape, const PipelineTimes& times) {
  const std::size_t p = times.forward.size();
  const std::int64_t m = shape.microbatches;
  const Duration c = times.transfer;
  std::vector<Duration> round(p);
  for (std::size_t s = 0; s < p; ++s) round[s] = times.forward[s] + times.backward[s];
  const Duration steady = std::max(pace(round, c), c);
  PipelineEstimate found;
  Duration later = sum(round), reach{}, leave{};
  for (std::size_t s = 0; s < p; ++s) {
    const auto behind = static_cast<std::int64_t>(p - 1 - s);
    const std::int64_t window = std::min<std::int64_t>(m, behind + 1);
    const Duration F = times.forward[s], B = times.backward[s];
    later -= round[s];
    const Duration there_and_back = later + 2 * behind * c;  // from the end of a forward here to
                                                             // its backward's start
    const Duration first_backward = std::max(round[s] + there_and_back, window * F + B);
    const Duration drain = std::max(there_and_back, (window - 1) * B);
    const Duration span =
        reach + first_backward + (m - window) * std::max(round[s], steady) + drain + leave;
    found.span = std::max(found.span, span);
    found.live.push_back(static_cast<int>(window));
    reach += F + c, leave += B + c;
  }
  return found;
}

PipelineEstimate interleaved_closed_form(const ScheduleShape& shape, const PipelineTimes& times) {
  const auto p = static_cast<std::size_t>(shape.devices);
  const std::int64_t chunks = shape.stages / shape.devices, m = shape.microbatches;
  std::vector<Duration> round(p);
  for (std::size_t s = 0; s < times.forward.size(); ++s)
    round[s % p] += times.forward[s] + times.backward[s];
  const Duration c = times.transfer, all = sum(round);
  // One microbatch visits every chunk twice; that many are on their way at once.
  const double in_flight =
      static_cast<double>(p) + static_cast<double>(p - 1) / static_cast<double>(chunks);
  const double journey =
      to_seconds(all) + to_seconds(c) * 2 * static_cast<double>(shape.stages - 1);
  const Duration steady = std::max({longest(round), seconds(journey / in_flight), 2 * chunks * c});
  PipelineEstimate found;
  for (const Duration own : round)
    found.span = std::max(found.span, m * std::max(own, steady) + (all - own) / chunks);
  found.span += 2 * static_cast<std::int64_t>(p - 1) * c;
  for (std::size_t s = 0; s < times.forward.size(); ++s) {
    const std::int64_t rank = static_cast<std::int64_t>(s % p),
                       chunk = static_cast<std::int64_t>(s / p);
    const auto devices = static_cast<std::int64_t>(p);
    // Forwards before the first backward ends: the warm-up and one more, taken p microbatches of a
    // chunk at a time.
    std::int64_t ahead =
        std::min(m * chunks, 2 * (devices - rank - 1) + (chunks - 1) * devices + 1);
    const std::int64_t group = devices * chunks, full = ahead / group, rest = ahead % group;
    found.live.push_back(static_cast<int>(
        full * devices + std::clamp<std::int64_t>(rest - chunk * devices, 0, devices)));
  }
  return found;
}

}  // namespace trainyard
