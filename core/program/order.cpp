#include "core/program/order.h"

#include <algorithm>
#include <limits>

namespace trainyard {

bool has_updates(const Order& order) {
  for (const Lane& lane : order.lanes)
    for (const Action& a : lane.actions)
      if (a.phase == Phase::Update) return true;
  return false;
}

int steps_of(const Order& order, int microbatches) {
  if (!has_updates(order)) return 1;
  std::int32_t last = 0;
  for (const Lane& lane : order.lanes)
    for (const Action& a : lane.actions)
      if (a.phase == Phase::Forward) last = std::max(last, a.microbatch);
  return static_cast<int>(std::min<std::int64_t>(last / std::int64_t{std::max(1, microbatches)} + 1,
                                                 std::numeric_limits<int>::max()));
}

std::size_t lane_before(const Order& order, std::size_t lane) {
  for (std::size_t i = lane; i-- > 0;)
    if (order.lanes[i].device == order.lanes[lane].device && !order.lanes[i].actions.empty())
      return i;
  return kNoLane;
}

bool has_pairs(const Lane& lane) {
  return std::any_of(lane.actions.begin(), lane.actions.end(),
                     [](const Action& a) { return a.paired; });
}

bool has_pairs(const Order& order) {
  return std::any_of(order.lanes.begin(), order.lanes.end(),
                     [](const Lane& lane) { return has_pairs(lane); });
}

}  // namespace trainyard
