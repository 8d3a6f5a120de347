// Which tensors have no negative numbers: those that a ReLU has made. Codes of such a tensor need
// no sign.
#pragma once

#include "core/model/model.h"

namespace trainyard {

/// Returns whether an activation of a layer, counted over all blocks, is what a ReLU or its square
/// has made, there or as the output of the layer before.
bool never_negative(const Model&, int layer, TensorId);

}  // namespace trainyard
