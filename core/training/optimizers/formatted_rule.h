// A FormattedRule updates weights by another rule whose state is stored in formats of its own
// (core/methods/precision/tensor_formats.h): each stretch of a part is converted to 4-byte floats,
// given to the rule and rounded as it is stored.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/methods/precision/tensor_formats.h"
#include "core/training/optimizers/optimizer_step.h"

namespace trainyard {

/// The rule must update one element after another, keep no state by tensor and update none in
/// norms(). A part's slots are in the formats that slot_format() gives, but for those with scales,
/// which are no slots: they lie in part.tensor_state as the ScaledNumbers of scaled_formats(). With
/// remainders, part.master points at `elements` numbers of 16 bits, and weights are bf16; where
/// main weights have scales it is null. Returns the rule itself where all state is in F32.
std::unique_ptr<OptimizerRule> formatted_rule(const TensorFormats&, std::unique_ptr<OptimizerRule>);

/// These divide main weights into bf16 weights, rounded to nearest with halves away from zero, and
/// the lower 16 bits of each, and join them again, bit for bit. `remainders` may be empty where
/// only the weights are asked for.
void divide_main_weights(std::span<const float> main, std::uint16_t* weights,
                         std::span<std::uint16_t> remainders);
void join_main_weights(const std::uint16_t* weights, std::span<const std::uint16_t> remainders,
                       float* main);

/// Returns the main weights of a part that has any, as they are stored or in `copy`.
std::span<const float> main_weights_of(const TensorFormats&, const ParameterPart&,
                                       std::vector<float>& copy);

}  // namespace trainyard
