// Runs a product whose operands are cast to 8 or 4 bits (to 16-bit integers: flex_product.h): each
// is rounded to codes along the dimension that is summed over, and multiplied as the numbers that
// the codes stand for, in 4-byte floats. Results, and the gradient of a bias, are those of the
// product without casts.
#pragma once

#include <cstdint>
#include <span>

#include "backends/cpu/kernels/narrow_operands.h"

namespace trainyard {

/// Runs one pass as run_kernel() does, of a matmul or a routed matmul, and of integers also of a
/// convolution. The
/// weights of all experts share what a tensor shares. Weights may be given in F8: as codes, which
/// are read as they are.
void run_narrow(const KernelCall&, Pass, NarrowOperands&);
/// Writes an input that forward has kept as codes in the view's own format: what a rank of sequence
/// parallel has kept is gathered again for the weight gradient. `experts`: of copies of routed
/// tokens, the expert of each row, whose rows were cast together; empty for other inputs.
/// `no_negative`: as NarrowOperands::no_negative_input.
void widen_kept(const NarrowScaling&, bool no_negative, const TensorView& into,
                const std::uint8_t* codes, std::span<const float> scales,
                std::span<const std::int32_t> experts = {});

}  // namespace trainyard
