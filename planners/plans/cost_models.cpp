#include "planners/plans/cost_models.h"

#include "core/cost/physical.h"

namespace trainyard {

const CostModel& CostModels::of(const Scenario& scenario) {
  const std::lock_guard guard(lock_);
  for (const Entry& entry : made_)
    if (entry.software == scenario.plan.software) return *entry.model;
  made_.push_back(
      {scenario.plan.software, make_ ? make_(scenario) : physical_cost_model(scenario)});
  return *made_.back().model;
}

}  // namespace trainyard
