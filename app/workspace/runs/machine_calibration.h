// What `calibrate` measures of this machine: both programs ask here.
#pragma once

#include <stop_token>
#include <vector>

#include "app/workspace/scenario/workspace.h"
#include "core/lowering/lower.h"
#include "core/validation/kernel_residuals.h"

namespace trainyard {

/// What is measured where no model is named: the models of the zoo that are small enough to train
/// here, at three sizes of a microbatch.
std::vector<Workload> standard_workloads();
/// The plan of the request. Throws Error{InvalidInput} unless its cluster is of this machine's own
/// cores, and as open() does.
std::vector<Workload> local_workloads(const Request&);

/// Beside what the workbench predicts of this machine's cores without a calibration.
KernelResiduals machine_residuals(const Calibration&, const std::stop_token& = {});

}  // namespace trainyard
