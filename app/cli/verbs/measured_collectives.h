// Implements `hardware --collectives` without a cluster: all-reduces between the processes that
// mpirun or srun started, measured beside their prices.
#pragma once

#include "app/cli/verb.h"

namespace trainyard {

/// All processes call it; the first one prints. Returns kNotMet where the sums of algorithms differ
/// by more than 1e-6. Throws Error{InvalidInput} if there is only one process.
int measure_collectives_here(const Words&, Streams&);

}  // namespace trainyard
