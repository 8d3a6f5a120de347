// Measures the exchanges of processes as a run over them executes them.
#pragma once

#include <vector>

#include "backends/processes.h"
#include "core/cost/calibrated.h"

namespace trainyard {

/// Measures messages between neighbours, and all-reduce, reduce-scatter, all-gather and all-to-all
/// between as many ranks as divide the processes, from 1 KiB to 64 MiB; groups side by side are
/// busy at once. Blocks for some seconds. All processes call it and get the same times.
std::vector<ExchangeTiming> measure_exchanges(Processes&);

}  // namespace trainyard
