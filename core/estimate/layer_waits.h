// Activations that leave layer by layer make forwards wait for copies down and backwards for copies
// up (core/lowering/layer_copies.h). This file adds these waits up over the layers of each stage,
// as if no stage waited for another.
#pragma once

#include <vector>

#include "core/cost/cost_model.h"
#include "core/lowering/workload.h"

namespace trainyard {

/// The mean wait of an action of a stage, beside its own time.
struct LayerWaits {
  Duration forward{}, backward{};
};
/// Returns the waits by virtual stage; they are zero where activations do not leave layer by layer.
std::vector<LayerWaits> layer_waits(const Workload&, const CostModel&);

}  // namespace trainyard
