// Host memory holds what a plan offloads; this file adds it up.
#pragma once

#include <optional>

#include "core/cluster/host.h"
#include "core/lowering/workload.h"

namespace trainyard {

/// Empty if the device keeps everything. Activations count at the moment when most microbatches
/// wait, over all stages of a device.
std::optional<HostMemory> host_memory(const Workload&);

/// The errors if the plan exceeds the hosts' memory; empty if it fits, or if the cluster does not
/// state that memory.
Diagnostics check_host_memory(const Workload&);

}  // namespace trainyard
