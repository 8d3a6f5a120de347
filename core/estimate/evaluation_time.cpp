#include "core/estimate/evaluation_time.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/estimate/estimate.h"
#include "core/lowering/stage_copies.h"
#include "core/methods/data/evaluation.h"

namespace trainyard {

Duration forward_time(const Workload& w, const CostModel& cost, std::int64_t samples) {
  const std::vector<StageTime> stages = stage_times(w, cost);
  const std::int64_t held = copies(w.placement),
                     micro = std::max<std::int64_t>(1, w.scenario.plan.batch.micro),
                     microbatches = (samples + micro - 1) / micro;
  if (microbatches <= 0) return {};
  Duration first = transfer_time(w, cost) * (static_cast<std::int64_t>(stages.size()) - 1);
  for (const StageTime& stage : stages) first += stage.forward.total();
  std::vector<Duration> of_device(static_cast<std::size_t>(w.scenario.plan.mesh.pp));
  for (const StageCopy& place : StageCopies(w))
    of_device[place.device.value] += stages[place.stage.value].forward.total();
  // Where devices hold two copies of the pipeline, each copy takes half of the microbatches.
  return first + *std::max_element(of_device.begin(), of_device.end()) * (microbatches - 1) / held;
}

std::optional<EvaluationCost> evaluation_cost(const Workload& w, const CostModel& cost,
                                              const Banded<Duration>& step) {
  const std::optional<EvaluationPlan> plan = evaluation_of(w.scenario.plan);
  if (!plan) return std::nullopt;
  constexpr Bytes kFound{24};  // three numbers: a sum of losses, what they weigh, right answers
  EvaluationCost found{plan->samples, plan->every, plan->replicas, {}};
  Duration time = forward_time(w, cost, plan->most());
  if (plan->replicas > 1)
    time += cost.collective(CollectiveKind::AllReduce, kFound,
                            w.groups[static_cast<std::size_t>(Group::Data)], w.scenario.cluster)
                .time;
  const auto in_band = [&](Duration edge) {
    const double share = step.value.count() > 0 ? to_seconds(edge) / to_seconds(step.value) : 1;
    return Duration{std::llround(share * static_cast<double>(time.count()))};
  };
  found.time = {time, in_band(step.low), in_band(step.high), step.basis};
  return found;
}

}  // namespace trainyard
