// Measures all-reduces between processes, message by message, beside what their links take.
#pragma once

#include <functional>

#include "backends/processes.h"
#include "core/cost/collectives/collective_study.h"

namespace trainyard {

/// Measures messages, adding, and an all-reduce of fp32 by every algorithm that so many ranks can
/// use, at each of the sizes. Blocks for some seconds. All processes call it and get the same
/// study, in which nothing is priced yet. `progress` receives the share that is done.
CollectiveStudy measure_collectives(Processes&, std::span<const Bytes> sizes,
                                    const std::function<void(double)>& progress);

}  // namespace trainyard
