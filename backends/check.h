// A check is a backend made of two: it trains the same workload on the reference backend, slow and
// exact, and on the CPU backend, from the same weights and data, and says where they first differ.
#pragma once

#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.h"

namespace trainyard {

struct CheckTolerances {
  double loss = 1e-5;        // as a share of the reference's loss
  double parameters = 1e-4;  // as a share of the tensor's largest magnitude
};

struct CheckReport {
  std::vector<double> reference, found;  // losses by step
  double worst_loss = 0, worst_parameter = 0;
  /// The first thing that is farther apart than allowed, in words; empty: they agree.
  std::string difference;
  bool agrees() const { return difference.empty(); }
};

/// Trains `training.steps` updates on both; blocks. Throws Error{InvalidInput} for what either
/// cannot execute, and for training that the reference does not know: it has plain and momentum
/// gradient descent at a constant rate.
CheckReport check_backends(const Workload&, const Training&, const CpuOptions&, const DataSource&,
                           const CheckTolerances& = {});

}  // namespace trainyard
