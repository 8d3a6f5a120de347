// Each kernel that was measured beside what is predicted of it: by a cost model that knows nothing
// of the measurement, and by the calibration without that very shape (leave one out), which is what
// its predictions of unmeasured shapes are worth.
#pragma once

#include <cstddef>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/cost/calibrated.h"

namespace trainyard {

struct KernelResidual {
  std::size_t kernel = 0;  // of Calibration::kernels
  Duration measured{};
  Duration before{};                 // by the other model
  std::optional<Duration> held_out;  // nothing where no other shape of the kernel was measured
};

/// Of |predicted / measured - 1|, every shape once.
struct ResidualShares {
  std::size_t points = 0;
  double median = 0, p90 = 0, worst = 0;
  friend bool operator==(const ResidualShares&, const ResidualShares&) = default;
};
/// Of shares that are already absolute.
ResidualShares residual_shares(std::vector<double> off);

struct KernelResiduals {
  std::vector<KernelResidual> kernels;  // most measured time in all (time x repeats) first
  ResidualShares before, held_out;
};
/// O(shapes of one kernel, squared), summed over the kernels. Throws Error{Cancelled} when stopped.
KernelResiduals kernel_residuals(const Calibration&, const CostModel& before, const Device&,
                                 const std::stop_token& stop = {});

}  // namespace trainyard
