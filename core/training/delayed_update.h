// An UpdateRule (core/methods/precision/update_rule.h) in 4-byte floats, on the part of a tensor
// that one device holds: gradient descent with momentum that knows its gradients are late. The
// doubles of update_rule.cpp are the definition; tests hold the two together.
#pragma once

#include <cstdint>

#include "core/methods/precision/update_rule.h"
#include "core/model/dtype.h"

namespace trainyard {

/// Whether the rule does anything that plain momentum does not.
bool is_corrected(const UpdateRule&);

/// Lengths equal. velocity: where the rule has momentum, else null; motion: T2's mean, else null;
/// before: the weights of one update before, where prediction takes their difference, else null.
struct DelayedPart {
  std::int64_t elements = 0;
  float* weights = nullptr;
  const void* gradients = nullptr;  // sums; only update() reads them
  DType gradient_type = DType::F32;
  float* velocity = nullptr;
  float* motion = nullptr;
  float* before = nullptr;
};

/// Update t of the stage. rule.rate is that of the schedule; T1 divides it further.
void delayed_update(const UpdateRule&, const DelayedPart&, std::int64_t t, double gradient_scale);
/// What forwards read after t updates.
void forward_weights(const UpdateRule&, const DelayedPart&, std::int64_t t, float* into);
/// What backwards read whose forward read an older version.
void backward_weights(const UpdateRule&, const DelayedPart&, float* into);

}  // namespace trainyard
