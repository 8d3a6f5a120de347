// This file tells an optimizer what an UpdateRule (core/methods/precision/update_rule.h) asks of
// its updates: corrections for delayed gradients, and weights for passes that do not read the
// newest. The doubles of update_rule.cpp are the definition; tests compare the two.
#pragma once

#include "core/methods/precision/update_rule.h"
#include "core/training/optimizers/optimizer_step.h"

namespace trainyard {

/// Returns whether some passes read derived weights (ParameterPart::derived), which are equal to
/// the weights before the first update: forwards those that a prediction looks ahead to, backwards
/// whose forward read an older version those that T2 moves back.
bool derives_weights(const UpdateRule&);

/// Corrects the facts of an update whose rate is that of the training: T1 divides it, spike
/// compensation brings missed momentum, prediction and T2 derive weights. Only the optimizer
/// momentum has a velocity that predicts; others have the rule's momentum 0 and are predicted by
/// their last step.
void correct(StepFacts&, const UpdateRule&);

}  // namespace trainyard
