// A ClippedRule updates weights by another rule and then brings each into [-most, most]. A range
// that no outlier stretches spreads what a weight means over more bits of its code, so that a
// flipped bit changes it less, and pressing outputs apart takes many weights instead of a few
// large ones.
//
// Stutz et al., "Bit Error Robustness for Energy-Efficient DNN Accelerators", MLSys 2021.
#pragma once

#include <memory>

#include "core/training/optimizers/optimizer_step.h"

namespace trainyard {

/// most: above 0. Weights in 16 bits have the largest number of their format that is not above it.
/// Biases and the weights of norms, which scale whole channels, are updated as without it; their
/// parts are those that do not adapt their rate (ParameterPart::adapts).
std::unique_ptr<OptimizerRule> clipped_rule(double most, std::unique_ptr<OptimizerRule>);

}  // namespace trainyard
