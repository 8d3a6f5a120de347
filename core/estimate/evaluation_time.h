// The time of an evaluation of a plan, by its forward alone.
#pragma once

#include <optional>

#include "core/cost/cost_model.h"
#include "core/lowering/workload.h"
#include "core/result/evaluation_cost.h"

namespace trainyard {

/// Returns the time of so many samples on one replica: the forwards of all stages and the messages
/// between them for the first microbatch, and the device that takes longest for each further one,
/// which is when the last forward of gpipe ends.
Duration forward_time(const Workload&, const CostModel&, std::int64_t samples);

/// Nothing where the plan does not evaluate. `step`: of the plan, whose band is that of the time.
/// Replicas that share an evaluation add up a loss, a weight and a count in the end.
std::optional<EvaluationCost> evaluation_cost(const Workload&, const CostModel&,
                                              const Banded<Duration>& step);

}  // namespace trainyard
