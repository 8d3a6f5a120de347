#include "visualizers/viewmodel/wave_offset.h"

#include <algorithm>

#include "core/base/error.h"

namespace trainyard {
namespace {

struct Jump {
  std::int64_t at, by;
};

std::int64_t shifted(std::int64_t at, std::int64_t shift, std::int64_t period) {
  const std::int64_t moved = at + shift;
  return moved >= period ? moved - period : moved;
}

// The jumps of one copy in order of time within the period; returns what it holds at time 0. The
// jump at the start of the copy's cycle is from its last value to its first.
std::int64_t jumps_of(const WaveCycle& cycle, std::int64_t shift, std::vector<Jump>& out) {
  const std::int64_t period = cycle.period.count();
  out.clear();
  // The first sample whose place wraps round comes first in time.
  const auto wraps = std::lower_bound(cycle.at.begin(), cycle.at.end(), period - shift);
  const auto first = static_cast<std::size_t>(wraps - cycle.at.begin());
  const std::size_t n = cycle.at.size();
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t i = (first + k) % n, before = (i + n - 1) % n;
    const std::int64_t by = cycle.value[i] - cycle.value[before];
    if (by != 0) out.push_back({shifted(cycle.at[i], shift, period), by});
  }
  std::int64_t start = cycle.value[(first + n - 1) % n];
  if (!out.empty() && out.front().at == 0) start += out.front().by, out.erase(out.begin());
  return start;
}

// Calls see(at, sum) at the start of the period and after each instant at which the sum jumps.
template <class See>
void walk_sum(const WaveCycle& cycle, int waves, Duration offset, const See& see) {
  const std::int64_t period = cycle.period.count();
  const std::int64_t step = ((offset.count() % period) + period) % period;
  std::vector<Jump> all, one, merged;
  std::int64_t sum = 0, shift = 0;
  for (int j = 0; j < waves; ++j) {
    sum += jumps_of(cycle, shift, one);
    merged.resize(all.size() + one.size());
    std::merge(all.begin(), all.end(), one.begin(), one.end(), merged.begin(),
               [](const Jump& a, const Jump& b) { return a.at < b.at; });
    all.swap(merged);
    shift = shifted(step, shift, period);
  }
  see(std::int64_t{0}, sum);
  for (std::size_t i = 0; i < all.size();) {
    const std::int64_t at = all[i].at;
    for (; i < all.size() && all[i].at == at; ++i) sum += all[i].by;
    see(at, sum);
  }
}

}  // namespace

WaveCycle wave_cycle(const StepCurve& curve, Instant from, Duration period) {
  if (period.count() <= 0)
    throw Error(Error::Kind::InvalidInput, "expected a cycle that takes time, found none",
                {"period"});
  WaveCycle cycle{period, {0}, {value_at(curve, from)}};
  auto i = static_cast<std::size_t>(
      std::upper_bound(curve.at.begin(), curve.at.end(), from.count()) - curve.at.begin());
  for (; i < curve.at.size() && curve.at[i] - from.count() < period.count(); ++i) {
    cycle.at.push_back(curve.at[i] - from.count());
    cycle.value.push_back(curve.value[i]);
  }
  return cycle;
}

std::int64_t peak_of(const WaveCycle& cycle) {
  return *std::max_element(cycle.value.begin(), cycle.value.end());
}

double mean_of(const WaveCycle& cycle) {
  double area = 0;
  for (std::size_t i = 0; i < cycle.at.size(); ++i) {
    const std::int64_t end = i + 1 < cycle.at.size() ? cycle.at[i + 1] : cycle.period.count();
    area += static_cast<double>(cycle.value[i]) * static_cast<double>(end - cycle.at[i]);
  }
  return area / static_cast<double>(cycle.period.count());
}

WaveCycle sum_of_waves(const WaveCycle& cycle, int waves, Duration offset) {
  WaveCycle sum{cycle.period, {}, {}};
  walk_sum(cycle, waves, offset, [&](std::int64_t at, std::int64_t bytes) {
    sum.at.push_back(at);
    sum.value.push_back(bytes);
  });
  return sum;
}

std::int64_t peak_of_waves(const WaveCycle& cycle, int waves, Duration offset) {
  std::int64_t peak = 0;
  walk_sum(cycle, waves, offset,
           [&](std::int64_t, std::int64_t bytes) { peak = std::max(peak, bytes); });
  return peak;
}

std::vector<std::int64_t> offset_scan(const WaveCycle& cycle, int waves, int steps) {
  std::vector<std::int64_t> scan;
  for (int i = 0; i <= steps; ++i) {
    const double share = static_cast<double>(i) / steps;
    scan.push_back(peak_of_waves(
        cycle, waves,
        Duration{static_cast<std::int64_t>(share * static_cast<double>(cycle.period.count()))}));
  }
  return scan;
}

std::size_t best_offset(const std::vector<std::int64_t>& scan) {
  const auto least = std::min_element(scan.begin(), scan.end());
  const auto first = static_cast<std::size_t>(least - scan.begin());
  std::size_t last = first;
  while (last + 1 < scan.size() && scan[last + 1] == scan[first]) ++last;
  return (first + last) / 2;
}

}  // namespace trainyard
