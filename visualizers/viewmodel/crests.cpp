#include "visualizers/viewmodel/crests.h"

#include <algorithm>

namespace trainyard {

// Goes up until the curve has fallen by `rise` from the highest so far, which is then a crest, and
// down until it has risen as much from the lowest.
std::vector<std::size_t> crests_above(const StepCurve& curve, std::int64_t rise) {
  std::vector<std::size_t> crests;
  std::size_t highest = 0, lowest = 0;
  bool up = true;
  for (std::size_t i = 0; i < curve.value.size(); ++i) {
    const std::int64_t value = curve.value[i];
    if (up) {
      if (value > curve.value[highest]) highest = i;
      if (value > curve.value[highest] - rise) continue;
      crests.push_back(highest);
      up = false;
      lowest = i;
    } else {
      if (value < curve.value[lowest]) lowest = i;
      if (value < curve.value[lowest] + rise) continue;
      up = true;
      highest = i;
    }
  }
  if (up) crests.push_back(highest);
  return crests;
}

std::int64_t clear_rise(const StepCurve& curve) {
  const auto [low, high] = std::minmax_element(curve.value.begin(), curve.value.end());
  return std::max<std::int64_t>(1, (*high - *low) / 10);
}

}  // namespace trainyard
