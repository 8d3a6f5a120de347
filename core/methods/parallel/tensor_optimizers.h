// This check says what a plan may not divide where its optimizer keeps state by tensor
// (core/methods/precision/tensor_state.h).
#pragma once

#include "core/base/error.h"
#include "core/plan/plan.h"

namespace trainyard {

/// Returns why the complete plan's optimizer cannot update what the plan leaves a device:
/// adafactor, muon and halp need whole tensors there, and all four their state on the device and of
/// one replica.
Diagnostics check_tensor_optimizer(const Plan&);

}  // namespace trainyard
