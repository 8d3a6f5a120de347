// Says which trainings and options a plan cannot be run with on the CPU backend, beside the plan
// itself (cpu_check.cpp).
#pragma once

#include "backends/backend.h"
#include "backends/cpu/cpu_run.h"

namespace trainyard {

/// Adds a diagnostic for everything that the job's training asks of its plan and that the backend
/// cannot execute. The job must have a training.
void check_training(const BackendJob&, Diagnostics&);

/// Returns what is wrong with how the job is to be run: in several processes, or from a checkpoint.
/// The job must have a training and data.
Diagnostics check_options(const BackendJob&, const CpuOptions&);

}  // namespace trainyard
