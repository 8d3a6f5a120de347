#include "backends/cpu/calibration/kernel_times.h"

#include <algorithm>

namespace trainyard {

KernelKey kernel_key(const Work& w) {
  return {w.kernel, w.kind,  w.math,        w.m,          w.n,
          w.k,      w.count, w.flops.value, w.read.value, w.written.value};
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
