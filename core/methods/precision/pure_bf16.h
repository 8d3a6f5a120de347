// What the methods share that train in bf16 alone: weights, gradients and optimizer state in 2
// bytes each, no master copy. They differ in how an update that is smaller than the spacing of the
// weights is kept (Zamirai et al., "Revisiting BFloat16 Training", 2020).
#pragma once

#include "core/methods/layers/layout.h"

namespace trainyard {

/// state_extra: bytes a parameter beside the moments.
inline void arrange_pure_bf16(Layout& layout, const Scenario& scenario, int state_extra) {
  const int moments = optimizer(scenario.plan.optimizer).state_bytes;
  layout.precision = {DType::BF16, DType::BF16, DType::BF16, DType::BF16, false};
  layout.optimizer_bytes += state_extra - moments / 2;
  // Moments of half the size are read and written, the master copy is not; the weights are read
  // before they are written, as the gradient is.
  layout.optimizer_touched_bytes += 2 * state_extra - moments - 4;
}

}  // namespace trainyard
