// Prices every plan of a space by tables: what a layer costs is worked out once for all plans that
// share its settings, and a plan is a sum over its stages. The memory is the closed form's own; the
// time is a bound that no plan undercuts, within a few per cent of what it takes.
#pragma once

#include <functional>
#include <stop_token>
#include <vector>

#include "planners/plans/cost_models.h"
#include "planners/plans/fate.h"
#include "planners/plans/plan_space.h"

namespace trainyard {

/// By plan, ids rising. A plan that fits as far as tables can tell is Untried; `bound` says which
/// figures are bounds from below.
struct PriceTable {
  std::vector<PlanId> ids;
  std::vector<PricedPlan> plans;
};

struct PricerOptions {
  Bytes spare{};
  int part = 0, parts = 1;  // prices every parts-th mesh, from this one on
  std::function<void(std::uint64_t tried)> progress = {};  // one thread at a time
  std::stop_token stop = {};
};

/// On the threads of the caller's oneTBB arena. Stops early without a word when asked to: plans not
/// reached are left out.
PriceTable price_space(const PlanSpace&, CostModels&, const PricerOptions& = {});

}  // namespace trainyard
