#include "core/methods/parallel/waiting_devices.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/methods/catalogue.h"
#include "core/methods/parallel/relaxed_synchrony.h"
#include "core/plan/shared_statistics.h"

namespace trainyard {

WaitingDevices waiting_devices(const Scenario& s) {
  const std::int64_t devices = s.cluster.count / s.plan.mesh.pp;
  const Synchrony synchrony = synchrony_of(s.plan);
  if (!synchrony.relaxed() || devices % synchrony.replicas != 0) return {1, devices, 1};
  return {synchrony.replicas, devices / synchrony.replicas,
          synchrony.served() ? 0 : synchrony.period};
}

std::int64_t separate_pipelines(const Scenario& s) {
  const Mesh& mesh = s.plan.mesh;
  const Choice* const chosen = find_choice(s.plan, "zero");
  const Params zero = with_defaults(chosen ? chosen->params : Params{}, method("zero").params);
  const bool apart = mesh.pp > 1 && mesh.ep == 1 && mesh.order == Mesh{}.order &&
                     schedule_of(s.plan).settles == nullptr && !synchrony_of(s.plan).relaxed() &&
                     !shares_statistics(s.plan) && zero.integer("stage") < 2;
  return apart ? mesh.dp.value_or(1) : 1;
}

std::vector<double> expected_slowness(const Scenario& s) {
  const Slowness& slow = s.cluster.slowness;
  if (!has_slow_devices(slow)) return {};
  const auto ranks = static_cast<std::size_t>(s.plan.mesh.pp);
  const WaitingDevices own = waiting_devices(s);
  WaitingDevices all = own, alone_in_replica = own;
  alone_in_replica.each /= separate_pipelines(s);
  all.each *= s.plan.mesh.pp;
  const auto m = static_cast<double>(microbatches(s.plan));
  const bool drains = schedule_of(s.plan).settles == nullptr;
  const double full = drains ? m / (m + static_cast<double>(ranks) - 1) : 1;
  const auto factor = [&](bool first) {
    const double alone = expected_slowness(slow, alone_in_replica, first);
    return ranks == 1 ? alone : full * expected_slowness(slow, all, first) + (1 - full) * alone;
  };
  std::vector<double> found(ranks, ranks > 1 ? factor(false) : 1.0);
  found[0] = slow.throttled > 1 || ranks == 1 ? factor(true) : found[0];
  return found;
}

std::vector<double> drawn_slowness(const Scenario& s, const std::vector<double>& computes) {
  if (!has_slow_devices(s.cluster.slowness)) return {};
  if (s.cluster.slowness.seed == kMeanOfDraws) return expected_slowness(s);
  WaitingDevices own = waiting_devices(s);
  const std::int64_t replicas = separate_pipelines(s), ranks = s.plan.mesh.pp, each = own.all();
  own.each /= replicas;
  const auto full = static_cast<double>(microbatches(s.plan) - 1);
  std::vector<double> slowest;
  double longest = 0;
  for (std::int64_t replica = 0; replica < replicas; ++replica) {
    std::vector<double> one;
    for (std::int64_t rank = 0; rank < ranks; ++rank)
      one.push_back(
          drawn_slowness(s.cluster.slowness, own, rank * each + replica * (each / replicas)));
    std::vector<double> stages = one;
    for (std::size_t rank = 0; rank < computes.size(); ++rank) stages[rank] *= computes[rank];
    // A pipeline of such stages takes as long as this many of their microbatches.
    const double length = full * *std::max_element(stages.begin(), stages.end()) +
                          std::accumulate(stages.begin(), stages.end(), 0.0);
    if (length > longest) longest = length, slowest = std::move(one);
  }
  return slowest;
}

std::size_t slow_level(const Cluster& cluster) { return level_of(cluster, cluster.count); }

}  // namespace trainyard
