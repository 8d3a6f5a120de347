#include "planners/plan_pricer.h"

#include <tbb/parallel_for.h>

#include <algorithm>

#include "planners/exact_price.h"

namespace trainyard {

PriceTable price_space(const PlanSpace& space, CostModels& costs, const PricerOptions& options) {
  PriceTable table;
  for (PlanId id = 0; id < space.combinations(); ++id) {
    const std::vector<std::uint32_t> digits = space.digits(id);
    if (id % static_cast<PlanId>(options.parts) != static_cast<PlanId>(options.part)) continue;
    if (const auto form = space.canonical(digits); form && *form == digits) table.ids.push_back(id);
  }
  table.plans.resize(table.ids.size());
  tbb::parallel_for(std::size_t{0}, table.ids.size(), [&](std::size_t i) {
    if (options.stop.stop_requested()) return;
    const Scenario s = space.scenario(table.ids[i]);
    const ExactPrice price = exact_price(s, costs.of(s));
    PricedPlan& plan = table.plans[i];
    if (!price.illegal.empty()) {
      plan.fate = illegal_fate(price.illegal);
      return;
    }
    plan.step = price.step, plan.memory = price.memory, plan.device = price.device;
    if (price.memory > memory_limit(s.cluster, options.spare)) plan.fate = Fate::Memory;
  });
  return table;
}

}  // namespace trainyard
