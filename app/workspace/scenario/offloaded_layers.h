// offload-layers=dynamic: a word of --set that stands for the fewest layers whose activations have
// to leave for the plan to fit. It is replaced where a scenario is opened, so that the plan that is
// shown, saved and lowered says which layers these are.
#pragma once

#include "core/cost/cost_model.h"
#include "core/plan/plan.h"

namespace trainyard {

/// Returns whether the plan asks for layers that are still to be found.
bool asks_for_layers(const Plan&);
/// Writes the layers into such a plan, by the simulator at these prices. Nothing leaves where the
/// plan fits without; otherwise it is compared with what all layers and what convolutions read, as
/// far as these fit, and the fastest is taken, of equally fast ones the one with the fewest layers.
/// The fewest layers are the first of every stage, because these wait longest for their backward.
/// All layers leave where nothing fits. Throws as prepare() does, and Error{InvalidInput} for a
/// plan that is too large to simulate.
void choose_offloaded_layers(Scenario&, const CostModel&);

}  // namespace trainyard
