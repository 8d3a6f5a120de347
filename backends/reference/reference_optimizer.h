// The reference updates weights by optimizers that an UpdateRule does not know: it follows the rule
// that trains elsewhere (core/training/optimizers/optimizer_step.h), on whole tensors in 4-byte
// floats.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "backends/reference/weights.h"
#include "core/plan/halp.h"
#include "core/training/training.h"

namespace trainyard {

/// Returns whether an UpdateRule is all of the optimizer.
bool is_update_rule(std::string_view optimizer);

/// Returns the optimizer of one copy of a stage's weights, at the rate of the training. The model
/// and the parameters must outlive it.
std::unique_ptr<ReferenceOptimizer> reference_optimizer(const Model&,
                                                        const std::vector<StageParameter>&,
                                                        std::string_view optimizer, const Training&,
                                                        const Halp&);

}  // namespace trainyard
