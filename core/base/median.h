// Defines the median of times that a run, its backend and its live view use.
#pragma once

#include <algorithm>
#include <vector>

#include "core/base/units.h"

namespace trainyard {

/// The lower of the two middle values; 0 if there are none.
inline Duration median(std::vector<Duration> times) {
  if (times.empty()) return {};
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace trainyard
