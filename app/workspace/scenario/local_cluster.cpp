#include "app/workspace/scenario/local_cluster.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/cluster/cluster_options.h"
#include "core/methods/settings/settings.h"

namespace trainyard {

void expect_local(const Scenario& scenario) {
  const Cluster& cluster = scenario.cluster;
  if (cluster.device.id == "cpu") return;
  throw Error(Error::Kind::InvalidInput,
              fmt::format("a run is on this machine's own devices, expected a cluster such as "
                          "cpu:{0}, found {1}; --devices {0} runs the same plan on {0} virtual "
                          "devices",
                          cluster.count, cluster.name),
              {"--cluster"});
}

Cluster local_cluster(std::int64_t devices, Bytes memory) {
  ClusterOptions options;
  if (memory.value > 0) options.memory = memory;
  return make_cluster(device("cpu"), devices, options);
}

std::int64_t devices_here(const Scenario& complete) {
  constexpr std::int64_t kMostHere = 16;  // from here on, a replica alone is tried
  const Mesh& mesh = complete.plan.mesh;
  if (complete.cluster.device.id == "cpu" || complete.cluster.count <= kMostHere)
    return complete.cluster.count;
  return static_cast<std::int64_t>(mesh.tp) * mesh.cp * mesh.pp * std::max(1, mesh.ep);
}

Scenario on_this_machine(Scenario scenario) {
  if (scenario.cluster.device.id == "cpu") return scenario;
  Scenario whole = scenario;
  whole.plan = complete(scenario);
  scenario.cluster = local_cluster(devices_here(whole), {});
  return scenario;
}

}  // namespace trainyard
