// Each class of tensors may have a format of its own, beside those that the precision decides:
//
//   first moment, second moment   bf16 in place of fp32, rounded to nearest as an update stores
//                                 them; or fp16, and the first moment fp8 (E4M3), with scales
//   main weights                  fp32, of which a bf16 weight is the upper half: only the lower 16
//                                 bits are stored beside it ("remainder"); or fp16 with scales
//   messages of gradients         another format than the sums: cast before they are reduced, and
//                                 back into the sums after it. Ranks that hold parts of one
//                                 tensor, and stages that share a table, add up what they keep
//   messages between stages       bf16 in place of fp32 activations and their gradients
//   gathered weights              what ZeRO 3 gathers, as bf16 of fp32 weights, or as fp8 or int8
//                                 with scales. Products read what has come, on all ranks alike, and
//                                 the shards, which updates read, are as exact as before
//
// A weight with a remainder is rounded to nearest with halves away from zero, as Transformer
// Engine's FusedAdam rounds it, because the remainder alone must say which way it was rounded. The
// two make up the fp32 weight bit for bit, so that training is that of fp32 main weights but for
// the one weight in 65,536 that lies half way.
//
// A format with scales has one of 4 bytes for each block of kStateBlock elements (scaled_blocks.h),
// as adamw-8bit has, and not one for a tensor, of which a rank may have a part. Scales of fp16 and
// fp8 are powers of two, as FP8-LM's are, so that a block which ranks cut is rounded alike on both
// sides, but for numbers that are too small for the format beside the largest of the block.
//
// Kalamkar et al., "A Study of BFLOAT16 for Deep Learning Training", 2019; DeepSeek-AI,
// "DeepSeek-V3 Technical Report", 2024, section 3.3.3 (moments in bf16); Peng et al., "FP8-LM:
// Training FP8 Large Language Models", 2023 (moments and main weights with scales); Wang et al.,
// "ZeRO++: Extremely Efficient Collective Communication for Giant Model Training", 2023 (qwZ).
#pragma once

#include <string_view>
#include <vector>

#include "core/methods/layers/layout.h"
#include "core/methods/precision/scaled_blocks.h"
#include "core/plan/plan.h"

namespace trainyard {

inline constexpr std::string_view kTensorFormats = "tensor-formats";
/// These are the parameters of the method, and the words that leave a format as it is.
inline constexpr std::string_view kFirstMoment = "first-moment", kSecondMoment = "second-moment",
                                  kMainWeights = "main-weights", kReduceFormat = "reduce",
                                  kBoundaryFormat = "boundary", kGatherFormat = "gather";
inline constexpr std::string_view kAsGradients = "gradients", kAsActivations = "activations",
                                  kRemainder = "remainder", kAsWeights = "weights";

struct TensorFormats {
  DType first_moment = DType::F32, second_moment = DType::F32;  // F32, BF16, or with scales F16, F8
  bool remainder = false;    // of a main weight the lower 16 bits are stored, beside a bf16 weight
  bool scaled_main = false;  // main weights are in F16 with scales
  /// Returns whether the optimizer's state is stored otherwise than without the method.
  bool of_state() const {
    return first_moment != DType::F32 || second_moment != DType::F32 || remainder || scaled_main;
  }
  bool has_scaled_state() const {
    return scaled_main || has_scales(first_moment) || has_scales(second_moment);
  }
};
TensorFormats tensor_formats(const Plan&);
/// Returns the formats with scales of the optimizer's state in the order in which it lies: of main
/// weights, of the first moment, of the second.
std::vector<DType> scaled_formats(const TensorFormats&);

/// Returns the format of a state slot of an optimizer's rule where weights are not pure bf16: by
/// the slot's name, "momentum" being a first moment.
DType slot_format(const TensorFormats&, std::string_view slot);

/// Returns the format in which gradients travel to be summed.
DType gradient_message_format(const Plan&, const Precision&);

/// Returns the format in which ZeRO 3 gathers weights: F32, BF16 or F16, or with scales F8 or I8.
DType gather_format(const Plan&, const Precision&);
/// Returns the bytes of that message where each of `shards` ranks gives as many of the elements,
/// rounded up, with scales of its own.
Bytes gather_message_bytes(DType, std::int64_t elements, std::int64_t shards);

/// Returns the format of what a stage sends to another.
DType boundary_format(const Plan&, const Precision&);
/// Returns the bytes of such a message, given those of the tensors in it.
Bytes boundary_bytes(Bytes tensors, const Plan&, const Precision&);

}  // namespace trainyard
