// The curve under which the offset between waves is dragged: the same plan, simulated at other
// offsets.
#pragma once

#include <stop_token>

#include "core/cost/cost_model.h"
#include "core/plan/plan.h"
#include "visualizers/view_data.h"

namespace trainyard {

/// Returns the scenario with that offset between its waves, in [0, 1] of a cycle.
Scenario at_wave_offset(Scenario, double share);

/// Simulates a plan whose waves share a device at evenly spaced offsets from 0 to a whole cycle,
/// several at once. Null for a plan that states no offset. cost: null = cost_model(scenario).
/// Throws as simulate(), and Error{Cancelled} when stopped.
std::shared_ptr<const OffsetPeaks> offset_peaks(const Scenario&, Grain,
                                                const CostModel* cost = nullptr,
                                                std::stop_token = {});

}  // namespace trainyard
