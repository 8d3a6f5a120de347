// Calibrates this machine for `calibrate`, in both programs.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "app/workspace/scenario/workspace.h"
#include "core/lowering/lower.h"
#include "core/validation/kernel_residuals.h"

namespace trainyard {

/// The workloads to measure if no model is named: the models of the zoo that are small enough to
/// train here, at three microbatch sizes.
std::vector<Workload> standard_workloads();
/// Workloads of so many random convolutional and recurrent networks and transformers, from which
/// prices of other shapes are learned; a seed gives the same networks on every machine. Throws
/// std::invalid_argument unless count is at least 1.
std::vector<Workload> random_workloads(int count, std::uint64_t seed);
/// The workload of the request's plan. Throws Error{InvalidInput} unless its cluster consists of
/// this machine's own cores, and as open() does.
std::vector<Workload> local_workloads(const Request&);

/// Compares the calibration with what the workbench predicts without one for this machine's cores,
/// or for the device of a recorded run. Throws Error{InvalidInput} for a device that the catalogue
/// does not have.
KernelResiduals machine_residuals(const Calibration&, const std::stop_token& = {});

}  // namespace trainyard
