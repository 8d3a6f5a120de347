// The network with which the cost of the executor itself is measured.
#pragma once

#include "core/lowering/lower.h"

namespace trainyard {

/// Each of its layers has a single number, so that its kernels have next to nothing to do.
Workload smallest_network();

}  // namespace trainyard
