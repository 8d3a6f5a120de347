#include "planners/schedules/lane_patterns.h"

#include <algorithm>
#include <cassert>

namespace trainyard {

Travelling warm_up(const Pipeline& p, const std::vector<std::int32_t>& forwards) {
  assert(p.chunks == 1);
  Travelling steps;
  steps.reserve(at(p.stages) * at(p.microbatches) * 2);
  for (const std::int32_t wanted : forwards) {
    const int n = std::min<int>(wanted, p.microbatches);
    steps.insert(steps.end(), at(n), step_of(0, kForward));
    for (int k = 0; k < p.microbatches; ++k) {
      steps.push_back(step_of(0, kInput));
      if (k + n < p.microbatches) steps.push_back(step_of(0, kForward));
    }
  }
  return steps;
}

std::vector<std::int32_t> line_of_warm_ups(const Pipeline& p, int first, double lift) {
  std::vector<std::int32_t> forwards;
  const int last = p.devices - 1;
  for (int d = 0; d <= last; ++d) {
    const double part = last == 0 ? 1.0 : static_cast<double>(last - d) / last;
    // Subtracts a little from the lift, so that a value that falls on a whole number is rounded to
    // its lower side.
    const double exact = 1 + (first - 1) * part + lift - 1e-6 * (lift > 0);
    forwards.push_back(std::clamp<std::int32_t>(static_cast<std::int32_t>(exact), 1, first));
  }
  return forwards;
}

Travelling travelling_of(const Pipeline& p, const Lanes& lanes) {
  Travelling steps;
  steps.reserve(at(p.stages) * at(p.microbatches) * 2);
  for (const LaneStep step : lanes.steps)
    if (part_of(step) != kWeight) steps.push_back(step);
  return steps;
}

}  // namespace trainyard
