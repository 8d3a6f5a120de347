// Makes clusters of this machine's own devices, on which the CPU backend runs.
#pragma once

#include <cstdint>

#include "core/plan/plan.h"

namespace trainyard {

/// Throws Error{InvalidInput} unless the scenario's cluster consists of such cores.
void expect_local(const Scenario&);
/// A cluster of `devices` cores of this machine, each with `memory` (0 = as in the catalogue).
Cluster local_cluster(std::int64_t devices, Bytes memory);

/// Returns the number of devices for the plan on this machine: its own if they are few or of this
/// machine, else those of one replica. The plan must be complete.
std::int64_t devices_here(const Scenario& complete);
/// Returns the scenario as it is where its cluster is of this machine, else on devices_here().
/// Throws as complete() does.
Scenario on_this_machine(Scenario);

}  // namespace trainyard
