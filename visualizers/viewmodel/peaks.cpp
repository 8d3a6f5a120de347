#include "visualizers/viewmodel/peaks.h"

#include <algorithm>

namespace trainyard {

// Goes up until the curve has fallen by `rise` from the highest so far, which is then a peak, and
// down until it has risen as much from the lowest.
std::vector<std::size_t> peaks_above(const StepCurve& curve, std::int64_t rise) {
  std::vector<std::size_t> peaks;
  std::size_t highest = 0, lowest = 0;
  bool up = true;
  for (std::size_t i = 0; i < curve.value.size(); ++i) {
    const std::int64_t value = curve.value[i];
    if (up) {
      if (value > curve.value[highest]) highest = i;
      if (value > curve.value[highest] - rise) continue;
      peaks.push_back(highest);
      up = false;
      lowest = i;
    } else {
      if (value < curve.value[lowest]) lowest = i;
      if (value < curve.value[lowest] + rise) continue;
      up = true;
      highest = i;
    }
  }
  if (up) peaks.push_back(highest);
  return peaks;
}

std::int64_t clear_rise(const StepCurve& curve) {
  const auto [low, high] = std::minmax_element(curve.value.begin(), curve.value.end());
  return std::max<std::int64_t>(1, (*high - *low) / 10);
}

}  // namespace trainyard
