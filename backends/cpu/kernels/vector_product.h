// Runs a product whose operands are whole numbers with scales for vectors: forward rounds them
// along the dimension that it sums over, and both parts of the backward read what forward has read,
// with gradients as they are. It multiplies the numbers that the codes stand for, in 4-byte floats,
// which gives the product in whole numbers but for the rounding of floats.
#pragma once

#include "backends/cpu/kernels/narrow_operands.h"

namespace trainyard {

/// These do as run_narrow() and widen_kept() do, where NarrowScaling::vectors says how many bits
/// there are. Rows have scales of their own, so that what is kept of them is alike whichever rows
/// lie beside them.
void run_vectors(const KernelCall&, Pass, NarrowOperands&);
void widen_vectors(const NarrowScaling&, bool no_negative, const TensorView& into,
                   const std::uint8_t* codes, std::span<const float> scales);

}  // namespace trainyard
