#include "app/workspace/scenario/local_cluster.h"

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/cluster/cluster_options.h"

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

}  // namespace trainyard
