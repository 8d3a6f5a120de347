// A PrunedRule updates weights by another rule and leaves zero those that were zero, so that what
// has been pruned stays pruned wherever a part of a tensor is held and by whatever plan it is
// updated. What of a gradient falls on a pruned weight still counts in norms of whole gradients.
#pragma once

#include <memory>

#include "core/training/optimizers/optimizer_step.h"

namespace trainyard {

/// Biases and the weights of norms, which may begin at zero, are updated as without it; their parts
/// are those that do not adapt their rate (ParameterPart::adapts).
std::unique_ptr<OptimizerRule> pruned_rule(std::unique_ptr<OptimizerRule>);

}  // namespace trainyard
