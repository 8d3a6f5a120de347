// Calibrate measures this machine at the kernels that models ask for: every distinct kernel and
// shape of given workloads, copies and sums between arenas. The operands are real and as warm as in
// a step, because the kernels run in the order of a step over as many layers as the model has.
#pragma once

#include <functional>
#include <span>
#include <stop_token>

#include "core/cost/calibrated.h"
#include "core/lowering/lower.h"

namespace trainyard {

struct CalibrateOptions {
  Duration box = std::chrono::seconds(10);  // about; each workload is rehearsed three times at
                                            // least
  std::stop_token stop = {};                // ends early, with what there is
  std::function<void(double)> progress = {};
};

/// Blocks. The calling thread measures; times are of its processor time, so that other programs
/// disturb them little. The last quarter of each workload's rehearsals is held back and predicted
/// from the others: residual_median and residual_worst are of their median steps. Throws
/// Error{Cancelled} when stopped before each workload ran once.
Calibration calibrate(std::span<const Workload>, const CalibrateOptions& = {});

/// The line through copies of 4 KiB to 16 MiB from one arena to another, and how fast 4-byte floats
/// are added up there. Blocks for some tenths of a second.
TransferTiming measure_copies();
/// What the executor adds to a kernel, from a network so small that little else is left. Blocks for
/// a tenth of a second.
Duration measure_overhead();
BytesPerSecond measure_reduction();
/// "AMD EPYC 9R14, 2 cores, oneDNN 2.6.3".
std::string describe_machine();

}  // namespace trainyard
