#include "core/methods/parallel/waiting_devices.h"

#include "core/methods/catalogue.h"
#include "core/methods/parallel/relaxed_synchrony.h"

namespace trainyard {

WaitingDevices waiting_devices(const Scenario& s) {
  const std::int64_t devices = s.cluster.count / s.plan.mesh.pp;
  const Synchrony synchrony = synchrony_of(s.plan);
  if (!synchrony.relaxed() || devices % synchrony.replicas != 0) return {1, devices, 1};
  return {synchrony.replicas, devices / synchrony.replicas,
          synchrony.served() ? 0 : synchrony.period};
}

std::vector<double> expected_slowness(const Scenario& s) {
  const Slowness& slow = s.cluster.slowness;
  if (!has_slow_devices(slow)) return {};
  const auto ranks = static_cast<std::size_t>(s.plan.mesh.pp);
  const WaitingDevices own = waiting_devices(s);
  WaitingDevices all = own;
  all.each *= s.plan.mesh.pp;
  const auto m = static_cast<double>(microbatches(s.plan));
  const bool drains = schedule_of(s.plan).settles == nullptr;
  const double full = drains ? m / (m + static_cast<double>(ranks) - 1) : 1;
  const auto factor = [&](bool first) {
    const double alone = expected_slowness(slow, own, first);
    return ranks == 1 ? alone : full * expected_slowness(slow, all, first) + (1 - full) * alone;
  };
  std::vector<double> found(ranks, ranks > 1 ? factor(false) : 1.0);
  found[0] = slow.throttled > 1 || ranks == 1 ? factor(true) : found[0];
  return found;
}

std::vector<double> drawn_slowness(const Scenario& s) {
  if (!has_slow_devices(s.cluster.slowness)) return {};
  if (s.cluster.slowness.seed == kMeanOfDraws) return expected_slowness(s);
  const WaitingDevices own = waiting_devices(s);
  std::vector<double> found;
  for (std::int64_t rank = 0; rank < s.plan.mesh.pp; ++rank)
    found.push_back(drawn_slowness(s.cluster.slowness, own, rank * own.all()));
  return found;
}

std::size_t slow_level(const Cluster& cluster) { return level_of(cluster, cluster.count); }

}  // namespace trainyard
