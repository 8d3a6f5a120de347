#include "core/cost/overlap.h"

#include <algorithm>
#include <cmath>

namespace trainyard {

Duration exposed(Duration alone, Duration beside, std::int32_t pieces, double contention) {
  if (pieces <= 1) return alone;
  const double c = static_cast<double>(alone.count()), g = static_cast<double>(beside.count()),
               k = static_cast<double>(pieces);
  const double left = std::max(pieces >= kIndependent ? 0.0 : c / k, c - g * (k - 1) / k);
  const double lost = contention * std::min(c, g);
  return Duration{static_cast<Duration::rep>(std::min(c, left + lost))};
}

double exposed_share(const PhaseLoad& load, const CostModel& cost) {
  if (!(load.exposed > 0)) return 1;
  return std::min(1.0, to_seconds(cost.exposed(load)) / load.exposed);
}

Duration share_of(Duration whole, double share) {
  if (share == 1) return whole;
  return Duration{
      static_cast<Duration::rep>(std::llround(static_cast<double>(whole.count()) * share))};
}

}  // namespace trainyard
