// Fixes are single changes of a plan that does not fit, each priced by simulating it; a gain is the
// change that makes a plan that fits faster.
#pragma once

#include <stop_token>

#include "core/cost/cost_model.h"
#include "core/result/experiment.h"

namespace trainyard {

/// Fills verdict.fixes or verdict.gain of the experiment, which run_once made of the scenario.
/// Global batch and sequence stay what they are, so that steps compare. The closed form decides
/// which changes are worth simulating; simulation is at order grain and decides what is shown.
/// Null = cost_model(scenario), of each change its own.
void price_changes(const Scenario&, Experiment&, const CostModel*, std::stop_token);

}  // namespace trainyard
