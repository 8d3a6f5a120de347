// The closed form: step time and memory of a scenario from sums over layers and a formula per
// schedule, without laying out a single instruction. What planners score; estimate_test holds it
// against the simulator.
#pragma once

#include "core/cost/cost_model.h"
#include "core/lowering/lower.h"
#include "core/result/result.h"

namespace trainyard {

/// Times of one microbatch on each virtual stage, and of what surrounds a step, alone on their
/// resources.
struct StageTimes {
  std::vector<Duration> forward, backward;  // with blocking communication
  std::vector<Duration> update, reduce, gather;
  Duration transfer{};  // one message to the next stage
};
StageTimes stage_times(const Workload&, const CostModel&);
/// Mean over stages, for schedules whose order depends on times.
PhaseTimes phase_times(const Workload&, const CostModel&);

/// Fidelity "estimate". Peaks are those of order grain; times are exact where stages are equal and
/// nothing contends.
Result estimate(const Workload&, const CostModel&);

}  // namespace trainyard
