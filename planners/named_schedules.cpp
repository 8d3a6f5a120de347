#include "planners/named_schedules.h"

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

// For schedules that depend on times: the mean stage's.
PhaseTimes mean_times(const Pipeline& p) {
  std::array<Ticks, 3> sum{};
  Ticks hop = 0;
  for (std::size_t pass = 0; pass < 3; ++pass)
    for (const Ticks time : p.time[pass]) sum[pass] += time;
  for (const Ticks h : p.hop) hop = std::max(hop, h);
  return {Duration{sum[0] / p.stages}, Duration{sum[1] / p.stages}, Duration{sum[2] / p.stages},
          Duration{hop}};
}

}  // namespace

std::vector<NamedLanes> named_lanes(const Pipeline& p) {
  const ScheduleShape shape{.devices = p.devices,
                            .stages = p.stages,
                            .microbatches = p.microbatches,
                            .steps = 1,
                            .times = mean_times(p),
                            .placement = p.placement};
  std::vector<NamedLanes> found;
  for (const Method& method : methods()) {
    if (!method.order || method.settles || !legal(method, p)) continue;
    // Where every device has one chunk, all placements are the same.
    if (method.placement != p.placement &&
        !(p.chunks == 1 && method.placement == Placement::Cyclic))
      continue;
    const Order order = method.order(shape, with_defaults({}, method.params));
    if (has_updates(order)) continue;
    if (std::optional<Lanes> lanes = lanes_of(p, order))
      found.push_back({std::string(method.name), std::move(*lanes)});
  }
  return found;
}

}  // namespace trainyard
