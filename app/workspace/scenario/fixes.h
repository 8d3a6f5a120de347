// Fixes are single changes of a plan that does not fit, each priced by simulating it; a gain is the
// change that makes a plan that fits faster.
#pragma once

#include <stop_token>

#include "core/cost/cost_model.h"
#include "core/result/experiment.h"

namespace trainyard {

/// Fills verdict.fixes or verdict.gain of the experiment, which run_once() made of the scenario.
/// Global batch and sequence stay unchanged, so that steps are comparable. The closed form decides
/// which changes are worth simulating; the simulation, at order grain, decides which are shown. A
/// null cost model means cost_model() of each changed scenario.
void price_changes(const Scenario&, Experiment&, const CostModel*, std::stop_token);

}  // namespace trainyard
