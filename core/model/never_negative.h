// Tensors that a ReLU has made have no negative numbers, so that their codes need no sign.
#pragma once

#include "core/model/model.h"

namespace trainyard {

/// Returns whether an activation of a layer, counted over all blocks, is what a ReLU or its square
/// has made, there or as the output of the layer before.
bool never_negative(const Model&, int layer, TensorId);

}  // namespace trainyard
