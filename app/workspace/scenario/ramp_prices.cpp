#include "app/workspace/scenario/ramp_prices.h"

#include <utility>
#include <vector>

#include "core/result/training_cost.h"
#include "visualizers/drawing/in_parallel.h"

namespace trainyard {

void price_ramp(Result& result, const Scenario& scenario,
                const std::function<Result(const Scenario&)>& price) {
  const std::vector<BatchPhase> phases = batch_phases(result.plan);
  if (phases.size() < 2) return;
  std::vector<PricedPhase> priced(phases.size());
  priced.back() = priced_phase(phases.back(), result);
  in_parallel(phases.size() - 1, [&](std::size_t i) {
    Scenario one = scenario;
    one.plan = with_batch(std::move(one.plan), phases[i].batch);
    priced[i] = priced_phase(phases[i], price(one));
    // An evaluation is the same in every phase, and a step is not.
    if (result.evaluation) priced[i].evaluation = result.evaluation->of_step(priced[i].step.value);
  });
  result.ramp = std::move(priced);
}

}  // namespace trainyard
