#include "planners/schedules/named_lanes.h"

#include <algorithm>

#include "core/methods/catalogue.h"
#include "core/plan/params.h"

namespace trainyard {
namespace {

bool legal(const Method& method, const Pipeline& p) {
  if (!method.check) return true;
  Scenario scenario;
  scenario.plan.mesh.pp = p.devices;
  scenario.plan.mesh.dp = 1;
  scenario.plan.virtual_stages = p.chunks;
  scenario.plan.batch.global = p.microbatches;
  return !has_errors(method.check(scenario, with_defaults({}, method.params)));
}

// The mean over stages, for schedules that depend on times.
PhaseTimes mean_times(const Pipeline& p) {
  std::array<Ticks, 3> sum{};
  Ticks hop = 0;
  for (std::size_t pass = 0; pass < 3; ++pass)
    for (const Ticks time : p.time[pass]) sum[pass] += time;
  for (const Ticks h : p.hop) hop = std::max(hop, h);
  return {Duration{sum[0] / p.stages}, Duration{sum[1] / p.stages}, Duration{sum[2] / p.stages},
          Duration{hop}};
}

bool whole_backwards(const Order& order) {
  return std::any_of(order.lanes.begin(), order.lanes.end(), [](const Lane& lane) {
    return std::any_of(lane.actions.begin(), lane.actions.end(),
                       [](const Action& a) { return a.phase == Phase::Backward; });
  });
}

}  // namespace

std::vector<NamedOrder> named_orders(const Pipeline& p) {
  const ScheduleShape shape{.devices = p.devices,
                            .stages = p.stages,
                            .microbatches = p.microbatches,
                            .steps = 1,
                            .times = mean_times(p),
                            .placement = p.placement};
  std::vector<NamedOrder> found;
  for (const Method& method : methods()) {
    if (!method.order || method.settles || !legal(method, p)) continue;
    // If every device has one chunk, all placements are the same.
    if (method.placement != p.placement &&
        !(p.chunks == 1 && method.placement == Placement::Cyclic))
      continue;
    Order order = method.order(shape, with_defaults({}, method.params));
    if (!has_updates(order)) found.push_back({method.name, std::move(order)});
  }
  return found;
}

std::vector<NamedLanes> named_lanes(const Pipeline& p) {
  std::vector<NamedLanes> found;
  for (const auto& [name, order] : named_orders(p)) {
    std::optional<Lanes> lanes = lanes_of(p, order);
    if (!lanes) continue;
    const bool splits = p.split && whole_backwards(order);
    found.push_back({std::string(name) + (splits ? ", backwards split" : ""), std::move(*lanes)});
  }
  return found;
}

}  // namespace trainyard
