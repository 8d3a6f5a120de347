#include "core/methods/orders/zero_bubble.h"

#include <algorithm>
#include <cassert>

namespace trainyard {

Order zero_bubble_order(const ScheduleShape& shape, int lead) {
  assert(shape.stages == shape.devices && "check() has refused virtual stages");
  Order order;
  const int n = shape.microbatches;
  for (int s = 0; s < shape.stages; ++s) {
    const StageId stage{static_cast<std::uint32_t>(s)};
    Lane lane{{stage.value}, "compute"};
    lane.actions.reserve(3 * static_cast<std::size_t>(n));
    const auto act = [&](Phase phase, int m) { lane.actions.push_back({phase, stage, m}); };

    const int warmup = std::min(n, lead * (shape.stages - 1 - s)), lag = lead * s;
    for (int m = 0; m < warmup; ++m) act(Phase::Forward, m);
    for (int m = 0; m < n; ++m) {
      if (warmup + m < n) act(Phase::Forward, warmup + m);
      act(Phase::BackwardInput, m);
      if (m >= lag) act(Phase::BackwardWeight, m - lag);
    }
    for (int m = std::max(0, n - lag); m < n; ++m) act(Phase::BackwardWeight, m);
    order.lanes.push_back(std::move(lane));
  }
  return order;
}

}  // namespace trainyard
