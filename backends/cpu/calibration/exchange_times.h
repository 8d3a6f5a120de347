// Measures the exchanges of processes as a run over them executes them.
#pragma once

#include <vector>

#include "backends/processes.h"
#include "core/cost/calibrated.h"

namespace trainyard {

struct MeasuredExchanges {
  std::vector<ExchangeTiming> known;      // 1 KiB, 4 KiB ... 64 MiB
  std::vector<ExchangeTiming> held_back;  // 2 KiB, 8 KiB ... 32 MiB, which a price can be held
                                          // against
};

/// Measures messages between neighbours, and all-reduce, reduce-scatter, all-gather and all-to-all
/// between as many ranks as divide the processes; groups side by side are busy at once. Blocks for
/// some seconds. All processes call it and get the same times.
MeasuredExchanges measure_exchanges(Processes&);

}  // namespace trainyard
