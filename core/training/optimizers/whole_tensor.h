// Rules that turn the gradient of a whole tensor into a direction share these: what reads the
// gradient, and what takes the step.
#pragma once

#include <vector>

#include "core/training/optimizers/optimizer_step.h"

namespace trainyard {

/// Returns the part's gradients in 4-byte floats, times the scale of the update.
std::vector<float> scaled_gradient(const ParameterPart&, const StepFacts&);

/// Subtracts rate (direction + decay w) from the weights, as the update stores them. descent: the
/// rule "sgd" of the same training and weight update. compensation: of Kahan's update, else null.
void descend_along(const OptimizerRule& descent, const ParameterPart&, const StepFacts&,
                   const std::vector<float>& direction, void* compensation);

}  // namespace trainyard
