// This file compares each measured kernel with its predictions: by a cost model without the
// measurement, by the calibration without that shape (leave one out), and by trees that learned
// without any kernel of its sizes, which shows how good predictions of unmeasured shapes are.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/cost/calibrated.h"

namespace trainyard {

struct KernelResidual {
  std::size_t kernel = 0;  // index into Calibration::kernels
  Duration measured{};
  Duration before{};                 // predicted by the other model
  std::optional<Duration> held_out;  // empty where no other shape of the kernel was measured
  std::optional<Duration> learned;   // empty where there are too few kernels to learn from
};

/// ResidualShares summarises |predicted / measured - 1|, with every shape counted once.
struct ResidualShares {
  std::size_t points = 0;
  double median = 0, p90 = 0, worst = 0;
  friend bool operator==(const ResidualShares&, const ResidualShares&) = default;
};
/// The shares must be absolute values already.
ResidualShares residual_shares(std::vector<double> off);

struct KernelResiduals {
  std::vector<KernelResidual> kernels;  // ordered by total measured time (time x repeats), most
                                        // first
  ResidualShares before, held_out;
  ResidualShares learned_held_out;  // by trees; of no points where there is too little to learn
                                    // from
};
/// Takes time quadratic in the shapes of one kernel, summed over the kernels. Throws
/// Error{Cancelled} when stopped.
KernelResiduals kernel_residuals(const Calibration&, const std::shared_ptr<const CostModel>& before,
                                 const Device&, const std::stop_token& stop = {});

}  // namespace trainyard
