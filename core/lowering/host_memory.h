// The ledger of host memory: what a plan that offloads puts there.
#pragma once

#include <optional>

#include "core/cluster/host.h"
#include "core/lowering/workload.h"

namespace trainyard {

/// Nothing where the device keeps everything. Activations count where most microbatches wait at
/// once, all stages of a device together.
std::optional<HostMemory> host_memory(const Workload&);

/// What a cluster that states its hosts' memory has against it; empty where it fits or is not
/// stated.
Diagnostics check_host_memory(const Workload&);

}  // namespace trainyard
