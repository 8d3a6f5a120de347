#include "core/cost/kernel_times.h"

#include <algorithm>
#include <cmath>

namespace trainyard {

void add_together(KernelTable& table, std::span<const WorkCount> works, Duration took,
                  const CostModel& cost, const Device& device) {
  std::vector<double> prices;
  double sum = 0;
  for (const WorkCount& w : works) {
    prices.push_back(to_seconds(cost.compute(w.work, device)));
    sum += prices.back() * w.count;
  }
  if (!(sum > 0)) return;
  for (std::size_t i = 0; i < works.size(); ++i) {
    if (prices[i] <= 0) continue;
    KernelTimes& one = table[kernel_place(works[i].work)];
    one.work = works[i].work;
    one.times.push_back(std::llround(static_cast<double>(took.count()) * prices[i] / sum));
  }
}

std::int64_t quantile(std::vector<std::int64_t> times, double share) {
  const auto nth =
      times.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(times.size() - 1));
  std::nth_element(times.begin(), nth, times.end());
  return *nth;
}

KernelTiming timing_of(const KernelTimes& kernel) {
  const auto at = [&](double share) { return quantile(kernel.times, share); };
  KernelTiming timing{.work = kernel.work, .time = Duration{std::max<std::int64_t>(1, at(0.5))}};
  timing.spread =
      static_cast<double>(at(0.75) - at(0.25)) / 2 / static_cast<double>(timing.time.count());
  timing.repeats = static_cast<int>(kernel.times.size());
  return timing;
}

}  // namespace trainyard
