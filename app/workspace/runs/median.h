// The median of times, of which a run and its live view say the same.
#pragma once

#include <algorithm>
#include <vector>

#include "core/base/units.h"

namespace trainyard {

/// The lower one of two in the middle; 0 of none.
inline Duration median(std::vector<Duration> times) {
  if (times.empty()) return {};
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace trainyard
