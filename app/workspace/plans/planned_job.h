// A scenario as a job that is placed on nodes beside others.
#pragma once

#include "core/plan/plan.h"
#include "planners/placement/job_trace.h"

namespace trainyard {

/// Simulates one step: the job takes the scenario's devices, and its wave is what they all hold,
/// the most in each phase of the step. Durations have that median and a spread of 0.8. Throws as
/// simulate() does.
JobKind planned_job(const Scenario&, Duration median);

}  // namespace trainyard
