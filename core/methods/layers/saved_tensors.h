// This file says what an op keeps for its backward where some weights are frozen.
#pragma once

#include <vector>

#include "core/model/op.h"

namespace trainyard {

/// Returns what of the op's saved() its passes of backward need that run. `wanted` is that of its
/// layer's Body.
std::vector<Saved> saved_for_backward(const LocalNode&, const std::vector<bool>& wanted);

}  // namespace trainyard
