#pragma once

#include "core/model/model.h"

namespace trainyard {

/// Returns whether any node of the model is this op.
bool uses_op(const Model&, const Op&);

}  // namespace trainyard
