// Runs a convolution of plain operands one way or another, as calibration times it.
#pragma once

#include "backends/cpu/kernels/scratch.h"
#include "core/cost/kernels/kernel_variants.h"

namespace trainyard {

/// Runs the pass that the shape says in the variant that is chosen, in 4-byte floats: `first` are
/// the images, or the gradient of the output where the pass is that of the input; `second` the
/// weights, or that gradient where the pass is that of the weight. Writes `out`.
void run_convolution(const KernelShape&, const VariantChooser&, const float* first,
                     const float* second, float* out, Scratch&);

}  // namespace trainyard
