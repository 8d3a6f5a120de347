// Clusters of this machine's own devices, which the CPU backend runs on.
#pragma once

#include <cstdint>

#include "core/plan/plan.h"

namespace trainyard {

/// Throws Error{InvalidInput} unless the scenario's cluster is of such cores.
void expect_local(const Scenario&);
/// The cluster of `devices` cores of this machine, each with that much memory (0 = the
/// catalogue's).
Cluster local_cluster(std::int64_t devices, Bytes memory);

}  // namespace trainyard
