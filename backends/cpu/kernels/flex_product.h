// Runs a product, or a convolution, whose operands are 16-bit integers that share an exponent with
// all of their tensor: each is rounded to mantissas, and multiplied as the numbers that these stand
// for, in 4-byte floats, which hold a mantissa exactly. Products of two mantissas have 30 bits, so
// that sums of them round in floats where Flexpoint's wide integers would not.
#pragma once

#include "backends/cpu/kernels/narrow_product.h"

namespace trainyard {

/// Returns whether products run so, and not by run_narrow().
inline bool multiplies_integers(const NarrowScaling& scaling) {
  return scaling.scale == NarrowScaling::Scale::OfIntegers;
}

/// Runs one pass as run_kernel() does. `how.known` are the ranges that their exponents represent; 0
/// = there is none yet, and the operand's own largest element chooses one. The input's mantissas
/// are kept in `how.codes`, in the order of its own rows, and one mantissa step in `how.scales`.
void run_flex(const KernelCall&, Pass, NarrowOperands& how);
/// Writes an input that forward has kept as mantissas in the view's own format.
void widen_flex(const TensorView& into, const std::uint8_t* mantissas, float step);

}  // namespace trainyard
