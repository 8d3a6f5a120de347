// This file applies an UpdateRule (core/methods/precision/update_rule.h) in 4-byte floats to the
// part of a tensor that one device holds: gradient descent with momentum, corrected for delayed
// gradients. The doubles of update_rule.cpp are the definition; tests compare the two.
#pragma once

#include <cstdint>

#include "core/methods/precision/update_rule.h"
#include "core/model/dtype.h"

namespace trainyard {

/// Returns whether the rule does anything beyond plain momentum.
bool is_corrected(const UpdateRule&);

/// All arrays have the same length. velocity is null where the rule has no momentum; motion is T2's
/// mean, else null; before is the weights before the last update where prediction uses their
/// difference, else null.
struct DelayedPart {
  std::int64_t elements = 0;
  float* weights = nullptr;
  const void* gradients = nullptr;  // sums over samples; only delayed_update() reads them
  DType gradient_type = DType::F32;
  float* velocity = nullptr;
  float* motion = nullptr;
  float* before = nullptr;
};

/// Applies update t of the stage. rule.rate is that of the schedule; T1 divides it further.
void delayed_update(const UpdateRule&, const DelayedPart&, std::int64_t t, double gradient_scale);
/// Writes the weights that forwards read after t updates.
void forward_weights(const UpdateRule&, const DelayedPart&, std::int64_t t, float* into);
/// Writes the weights for backwards whose forward read an older version.
void backward_weights(const UpdateRule&, const DelayedPart&, float* into);

}  // namespace trainyard
