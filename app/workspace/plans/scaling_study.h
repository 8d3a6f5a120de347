// A study of scaling with the workbench's prices: the degrees of the plan as they are, or searched
// anew for each number of devices.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "core/estimate/scaling.h"
#include "planners/plans/plan_space.h"

namespace trainyard {

struct ScalingQuestion {
  std::vector<std::int64_t> devices = {};  // ascending; empty = scaling_counts()
  bool searched = false;
  std::vector<Bound> bounds = {};  // of a search: what a degree may be, or further knobs
  std::string calibration = {};    // as open_cost_model() reads it; empty = the workbench's prices
  std::stop_token stop = {};
};

/// Results are those of the closed form, with bands. Throws Error{InvalidInput} where the scenario
/// or a bound is wrong, and Error{Io} for the calibration. When stopped, the numbers of devices
/// that were not reached say so, and the others are as they were found.
ScalingStudy scaling_study(const Scenario&, const ScalingQuestion&);

}  // namespace trainyard
