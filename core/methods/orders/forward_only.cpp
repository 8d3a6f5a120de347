#include "core/methods/orders/forward_only.h"

#include <algorithm>
#include <map>
#include <utility>

namespace trainyard {
namespace {

bool hands_gradients_back(Phase phase) {
  return phase == Phase::Backward || phase == Phase::BackwardInput;
}

}  // namespace

Order without_backward(Order order, int stages) {
  if (stages == 0) return order;
  const auto first = static_cast<std::uint32_t>(stages);
  const auto goes = [&](const Action& a) {
    return a.stage.value < first && a.phase != Phase::Forward && a.phase != Phase::Update;
  };
  std::map<std::int32_t, Action> ends;  // by microbatch: the backward at which gradients end
  for (const Lane& lane : order.lanes)
    for (const Action& a : lane.actions)
      if (a.stage.value == first && hands_gradients_back(a.phase)) ends[a.microbatch] = a;
  std::erase_if(order.precedences,
                [&](const Precedence& p) { return goes(p.before) || goes(p.after); });
  for (Lane& lane : order.lanes) {
    std::vector<Action> left;
    std::vector<Action> waits;
    bool partner_gone = false;
    for (const Action& action : lane.actions) {
      if (goes(action)) {
        if (hands_gradients_back(action.phase)) waits.push_back(ends.at(action.microbatch));
        partner_gone = !action.paired;
        continue;
      }
      Action& a = left.emplace_back(action);
      if (std::exchange(partner_gone, false)) a.paired = false;
      for (const Action& before : waits) order.precedences.push_back({before, a});
      waits.clear();
    }
    lane.actions = std::move(left);
  }
  return order;
}

Order order_of(const Method& schedule, const Params& params, const ScheduleShape& shape) {
  return without_backward(schedule.order(shape, params), shape.forward_only);
}

}  // namespace trainyard
