// A cost model made of measurements: kernels by shape, copies and collectives of one machine, as
// `calibrate` writes them down. A shape that was measured costs what it took; another is put
// between its neighbours of the same kernel by its arithmetic and traffic, and the band says how
// far the neighbours are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/cost/cost_model.h"

namespace trainyard {

/// One kernel at one shape, alone on a core, its operands as warm as they are in a real step.
struct KernelTiming {
  Work work;
  Duration time{};    // median
  double spread = 0;  // half of the middle half of the measurements, as a share of the median
  int repeats = 0;
};

/// A straight line through measured messages: time = start + bytes / rate.
struct TransferTiming {
  Duration start{};
  BytesPerSecond rate{};
};

struct Calibration {
  std::string machine;  // "AMD EPYC ..., 2 cores, oneDNN 2.6.3"
  std::vector<KernelTiming> kernels;
  Duration overhead{};  // that an executor adds to every kernel: its operands, its memory, clocks
  TransferTiming copy;  // between two arenas
  BytesPerSecond reduce{};                         // of adding up gradients
  double residual_median = 0, residual_worst = 0;  // of its own check, as shares
  std::vector<std::string> notes;
};

/// Owns a copy. Falls back, for a kernel that was never measured, to core/cost/local_core.h,
/// and says so in leaves_out().
std::unique_ptr<CostModel> calibrated_cost_model(Calibration);

}  // namespace trainyard
