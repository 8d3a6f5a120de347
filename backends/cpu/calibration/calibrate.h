// Calibrates this machine for the kernels that models use: measures every distinct kernel and shape
// of given workloads, and copies and sums between arenas. The operands are real and as warm in the
// caches as in a step, because the kernels run in the order of a step over as many layers as the
// model has.
#pragma once

#include <functional>
#include <span>
#include <stop_token>

#include "core/cost/calibrated.h"
#include "core/lowering/lower.h"

namespace trainyard {

struct CalibrateOptions {
  Duration box = std::chrono::seconds(10);  // approximate; each workload runs at least three times
  std::stop_token stop = {};                // ends early, with the results so far
  std::function<void(double)> progress = {};
};

/// Measures on the calling thread and blocks. Times are that thread's processor time, so that other
/// programs disturb them little. The last quarter of each workload's rehearsals is held back and
/// predicted from the others: residual_median and residual_worst are the errors of the predicted
/// median steps. Throws Error{Cancelled} if stopped before each workload has run once.
Calibration calibrate(std::span<const Workload>, const CalibrateOptions& = {});

/// measure_copies() fits a line through copies of 4 KiB to 16 MiB between two arenas;
/// measure_reduction() measures how fast 4-byte floats are added there. Blocks for some tenths of a
/// second.
TransferTiming measure_copies();
/// The time that the executor adds to each kernel, measured with a network so small that little
/// else remains. Blocks for a tenth of a second.
Duration measure_overhead();
BytesPerSecond measure_reduction();
/// A description such as "AMD EPYC 9R14, 2 cores, oneDNN 2.6.3".
std::string describe_machine();

}  // namespace trainyard
