#include "app/workspace/scenario/closed_form.h"

#include <memory>

#include "app/workspace/scenario/prices.h"
#include "app/workspace/scenario/ramp_prices.h"
#include "core/estimate/assumptions.h"
#include "core/estimate/evaluation_time.h"
#include "core/validation/bands.h"

namespace trainyard {

Result estimate(const Scenario& scenario, const CostModel* cost, bool micro_batch_given) {
  const std::unique_ptr<CostModel> own = cost == nullptr ? cost_model(scenario) : nullptr;
  const CostModel& by = cost != nullptr ? *cost : *own;
  const auto priced = [&](const Scenario& one) { return banded_estimate(prepare(one), by); };
  const Workload workload = prepare(scenario);
  Result result = banded_estimate(workload, by);
  result.evaluation = evaluation_cost(workload, by, result.step);
  price_ramp(result, scenario, priced);
  result.assumptions = assumed(scenario, result.step.value, cost, micro_batch_given);
  return result;
}

std::vector<Assumed> assumed(const Scenario& scenario, Duration step, const CostModel* cost,
                             bool micro_batch_given) {
  using Shared = std::shared_ptr<const CostModel>;
  return assumptions(scenario, {micro_batch_given, cost == nullptr}, step,
                     [cost](const Scenario& s) -> Shared {
                       if (cost != nullptr) return {Shared(), cost};  // not owned
                       return cost_model(s);
                     });
}

}  // namespace trainyard
