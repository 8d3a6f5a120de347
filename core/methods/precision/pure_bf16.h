// This file has what the methods that train in bf16 alone share: weights, gradients and optimizer
// state take 2 bytes each, and there is no master copy. The methods differ in how they keep an
// update that is smaller than the spacing of the weights (Zamirai et al., "Revisiting BFloat16
// Training", 2020).
#pragma once

#include "core/methods/layers/layout.h"

namespace trainyard {

/// state_extra is in bytes per parameter beside the moments.
inline void arrange_pure_bf16(Layout& layout, const Scenario& scenario, int state_extra) {
  const int moments = optimizer(scenario.plan.optimizer).state_bytes;
  layout.precision = {DType::BF16, DType::BF16, DType::BF16, DType::BF16, false};
  layout.optimizer_bytes += state_extra - moments / 2;
  // Moments of half the size are read and written, and the master copy is not; the weights are read
  // before they are written, as is the gradient.
  layout.optimizer_touched_bytes += 2 * state_extra - moments - 4;
}

}  // namespace trainyard
