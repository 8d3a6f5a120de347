// Each class of tensors may have a format of its own, beside those that the precision decides:
//
//   first moment, second moment   bf16 in place of fp32, rounded to nearest as an update stores
//   them main weights                  fp32, of which a bf16 weight is the upper half: only the
//   lower 16
//                                 bits are stored beside it ("remainder")
//   messages of gradients         another format than the sums: cast before they are reduced, and
//                                 back into the sums after it. Ranks that hold parts of one
//                                 tensor, and stages that share a table, add up what they keep
//   messages between stages       bf16 in place of fp32 activations and their gradients
//
// A weight with a remainder is rounded to nearest with halves away from zero, as Transformer
// Engine's FusedAdam rounds it, because the remainder alone must say which way it was rounded. The
// two make up the fp32 weight bit for bit, so that training is that of fp32 main weights but for
// the one weight in 65,536 that lies half way.
//
// Moments of 16 or 8 bits with a scale for each tensor are another matter: a rank has a part of a
// tensor, whose scale would depend on the mesh. adamw-8bit has a scale for each block instead.
//
// Kalamkar et al., "A Study of BFLOAT16 for Deep Learning Training", 2019; DeepSeek-AI,
// "DeepSeek-V3 Technical Report", 2024, section 3.3.3 (moments in bf16).
#pragma once

#include <string_view>

#include "core/methods/layers/layout.h"
#include "core/plan/plan.h"

namespace trainyard {

inline constexpr std::string_view kTensorFormats = "tensor-formats";
/// These are the parameters of the method, and the words that leave a format as it is.
inline constexpr std::string_view kFirstMoment = "first-moment", kSecondMoment = "second-moment",
                                  kMainWeights = "main-weights", kReduceFormat = "reduce",
                                  kBoundaryFormat = "boundary";
inline constexpr std::string_view kAsGradients = "gradients", kAsActivations = "activations",
                                  kRemainder = "remainder";

struct TensorFormats {
  DType first_moment = DType::F32, second_moment = DType::F32;  // F32 or BF16
  bool remainder = false;  // of a main weight the lower 16 bits are stored, beside a bf16 weight
  /// Returns whether the optimizer's state is stored otherwise than without the method.
  bool of_state() const {
    return first_moment != DType::F32 || second_moment != DType::F32 || remainder;
  }
};
TensorFormats tensor_formats(const Plan&);

/// Returns the format of a state slot of an optimizer's rule, F32 or BF16, where weights are not
/// pure bf16: by the slot's name, "momentum" being a first moment.
DType slot_format(const TensorFormats&, std::string_view slot);

/// Returns the format in which gradients travel to be summed.
DType gradient_message_format(const Plan&, const Precision&);

/// Returns the format of what a stage sends to another.
DType boundary_format(const Plan&, const Precision&);
/// Returns the bytes of such a message, given those of the tensors in it.
Bytes boundary_bytes(Bytes tensors, const Plan&, const Precision&);

}  // namespace trainyard
