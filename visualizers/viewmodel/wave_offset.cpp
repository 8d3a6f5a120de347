#include "visualizers/viewmodel/wave_offset.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"

namespace trainyard {
namespace {

// One copy of the cycle, shifted: where it stands as time goes through the period.
struct Copy {
  std::size_t next = 0;  // sample that it jumps to next
  std::size_t left = 0;  // jumps until the period is over
  std::int64_t due = 0;  // when, within the period
  std::int64_t value = 0;
};

std::int64_t shifted(std::int64_t at, std::int64_t shift, std::int64_t period) {
  const std::int64_t moved = at + shift;
  return moved >= period ? moved - period : moved;
}

Copy copy_of(const WaveCycle& cycle, std::int64_t shift) {
  const std::size_t n = cycle.at.size();
  // The first sample whose place wraps round comes first in time.
  const auto wraps =
      std::lower_bound(cycle.at.begin(), cycle.at.end(), cycle.period.count() - shift);
  Copy copy;
  copy.next = static_cast<std::size_t>(wraps - cycle.at.begin()) % n;
  copy.left = n;
  copy.due = shifted(cycle.at[copy.next], shift, cycle.period.count());
  copy.value = cycle.value[(copy.next + n - 1) % n];
  return copy;
}

// Calls see(at, sum) at the start of the period and after each instant at which a copy jumps.
template <class See>
void walk_sum(const WaveCycle& cycle, int waves, Duration offset, const See& see) {
  const std::int64_t period = cycle.period.count();
  const std::int64_t step = ((offset.count() % period) + period) % period;
  const std::size_t n = cycle.at.size();
  std::vector<Copy> copies;
  std::vector<std::int64_t> shifts;
  std::int64_t sum = 0, shift = 0;
  for (int j = 0; j < waves; ++j) {
    copies.push_back(copy_of(cycle, shift));
    shifts.push_back(shift);
    sum += copies.back().value;
    shift = shifted(step, shift, period);
  }
  std::int64_t at = 0;
  const auto jump_until_now = [&] {
    std::int64_t following = std::numeric_limits<std::int64_t>::max();
    for (std::size_t j = 0; j < copies.size(); ++j) {
      Copy& copy = copies[j];
      while (copy.left > 0 && copy.due == at) {
        sum += cycle.value[copy.next] - copy.value;
        copy.value = cycle.value[copy.next];
        copy.next = copy.next + 1 == n ? 0 : copy.next + 1;
        copy.due = shifted(cycle.at[copy.next], shifts[j], period);
        --copy.left;
      }
      if (copy.left > 0) following = std::min(following, copy.due);
    }
    return following;
  };
  for (;;) {
    const std::int64_t following = jump_until_now();
    see(at, sum);
    if (following == std::numeric_limits<std::int64_t>::max()) return;
    at = following;
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
