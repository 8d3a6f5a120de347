// The list of fast kernels; adding one is adding its file, its line here and its line in
// kernels.cpp.
#pragma once

#include "backends/cpu/kernels/kernel.h"

namespace trainyard {

/// The reference maths of any op, on operands converted to doubles and back.
CpuKernel reference_kernel(const Op&);

}  // namespace trainyard
