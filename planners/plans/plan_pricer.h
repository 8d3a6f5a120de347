// Prices every plan of a space with tables: the cost of a layer is computed once for all plans that
// share its settings, and a plan is a sum over its stages. The memory equals that of the closed
// form; the time is a lower bound, within a few per cent of the closed form's.
#pragma once

#include <functional>
#include <stop_token>
#include <vector>

#include "planners/plans/cost_models.h"
#include "planners/plans/fate.h"
#include "planners/plans/plan_space.h"

namespace trainyard {

/// Prices by plan, with ascending ids. A plan that fits as far as the tables can tell is Untried;
/// `bound` says which figures are lower bounds.
struct PriceTable {
  std::vector<PlanId> ids;
  std::vector<PricedPlan> plans;
};

struct PricerOptions {
  Bytes spare{};
  int part = 0, parts = 1;  // prices every parts-th mesh, starting with mesh `part`
  std::function<void(std::uint64_t tried)> progress = {};  // called by one thread at a time
  std::stop_token stop = {};
};

/// On a mixed cluster the figures are bounds from those of each of its kinds alone, with an even
/// split: a plan that lacks memory on every kind so is given up, although a split weighted to the
/// kinds may save it (plan_refine.h tries such plans).
///
/// Runs on the threads of the caller's oneTBB arena. Returns early, without an error, if asked to
/// stop: plans not reached are left out.
PriceTable price_space(const PlanSpace&, CostModels&, const PricerOptions& = {});

}  // namespace trainyard
