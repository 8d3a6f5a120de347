// One plan of a space, priced by the whole closed form (core/estimate): what a search falls back on
// where tables and bounds do not decide.
#pragma once

#include <vector>

#include "core/cost/cost_model.h"
#include "core/timeline/metrics.h"
#include "planners/plans/fate.h"

namespace trainyard {

struct ExactPrice {
  Fate illegal = Fate::Untried;  // else the word for it, and nothing below is meaningful
  Diagnostics errors;            // that forbid it
  Duration step{};
  Bytes memory{};
  std::uint16_t device = 0;
  Breakdown device_time;
};
/// Does not throw for a plan that is illegal. A framework that the plan states is a condition too:
/// what its program does not run is illegal.
ExactPrice exact_price(Scenario, const CostModel&);

/// The word for what forbids a plan; `found` has an error.
Fate illegal_fate(const Diagnostics& found);
/// US dollars of one step; 0 where the device has no price.
double step_money(const Cluster&, Duration step);
/// What the device has, less what is to be spared.
Bytes memory_limit(const Cluster&, Bytes spare);

}  // namespace trainyard
