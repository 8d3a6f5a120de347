// An ExactPrice is one plan of a space priced by the whole closed form (core/estimate), which a
// search uses where tables and bounds do not decide.
#pragma once

#include <vector>

#include "core/cost/cost_model.h"
#include "core/timeline/metrics.h"
#include "planners/plans/fate.h"

namespace trainyard {

struct ExactPrice {
  Fate illegal = Fate::Untried;  // if legal; otherwise nothing below is meaningful
  Diagnostics errors;            // the errors that forbid the plan
  Duration step{};
  Bytes memory{};            // reserved on the device with the least room
  std::uint16_t device = 0;  // its pipeline rank
  Breakdown device_time;
};
/// Does not throw for an illegal plan. A framework that the plan states is a condition too: the
/// plan is illegal if that framework's program does not support it.
ExactPrice exact_price(Scenario, const CostModel&);

/// The fate of a plan with these diagnostics; `found` must contain an error.
Fate illegal_fate(const Diagnostics& found);
/// US dollars of one step; 0 where the device has no price.
double step_money(const Cluster&, Duration step);
/// The memory of a device of the first kind less `spare`.
Bytes memory_limit(const Cluster&, Bytes spare);
/// Returns the memory of the device at a pipeline rank, of whatever kind it is, less `spare`.
Bytes memory_limit(const Scenario&, std::uint16_t device, Bytes spare);

}  // namespace trainyard
