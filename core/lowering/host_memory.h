// Host memory, and NVMe where the plan says so, holds what a plan offloads; this file adds it up.
#pragma once

#include <optional>
#include <vector>

#include "core/cluster/host.h"
#include "core/lowering/workload.h"

namespace trainyard {

/// Empty if the device keeps everything. Activations count at the moment when most microbatches
/// wait, over all stages of a device.
std::optional<HostMemory> host_memory(const Workload&);

/// Returns by device the buffers through which state on NVMe passes; none if it has no such state.
std::vector<StateBuffers> state_buffers(const Workload&);

/// The errors if the plan exceeds the hosts' memory or the nodes' NVMe; empty if it fits, or if
/// the cluster does not state how much there is.
Diagnostics check_host_memory(const Workload&);

}  // namespace trainyard
