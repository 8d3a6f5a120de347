// A study of waves that share a device simulates the plan at every offset between them, the curve
// under which the offset is dragged, and other plans for the same device, which say whether the
// waves are worth it.
#pragma once

#include <optional>
#include <stop_token>

#include "core/cost/cost_model.h"
#include "core/plan/plan.h"
#include "visualizers/view_data.h"

namespace trainyard {

/// Returns the scenario with that offset between its waves, in [0, 1] of a cycle.
Scenario at_wave_offset(Scenario, double share);

/// Returns the peak of the fullest device of such a plan with its waves aligned, at an offset of 0:
/// what its study at the natural grain begins with. Nothing for a plan that states no offset. As
/// wave_study() otherwise.
std::optional<Bytes> aligned_peak(const Scenario&, const CostModel* cost = nullptr,
                                  std::stop_token = {});

/// Simulates a plan whose waves share a device at evenly spaced offsets from 0 to a whole cycle,
/// and three plans without waves that make an update from as many samples: one wave; one wave of
/// all waves' samples at once; and, where that one holds more than the waves do at their best
/// offset, the same with the cheapest recomputation that does not, or with all of it. None of them
/// depends on the plan's own offset. Several are simulated at once. Null for a plan that states no
/// offset. cost: null = cost_model(scenario). Throws as simulate(), and Error{Cancelled} when
/// stopped.
std::shared_ptr<const WaveStudy> wave_study(const Scenario&, Grain, const CostModel* cost = nullptr,
                                            std::stop_token = {});

}  // namespace trainyard
