// The range of exponents that the formats of a plan represent.
#pragma once

#include "core/lowering/workload.h"
#include "core/training/numbers/number_record.h"

namespace trainyard {

/// Returns the window of each class of numbers in the format that the plan's products read them in,
/// or else in which they are kept. Gradients have that of the format in which the gradients of
/// activations travel back, of which those of weights are sums: it is there that they vanish.
ByNumberClass<NumberWindow> number_windows(const Workload&);

}  // namespace trainyard
