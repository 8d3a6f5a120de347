// Sums that several kernels need.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/kernel.h"

namespace trainyard {

/// The sum of the elements, in 4-byte floats, in lanes with a fixed order.
float total_of(std::int64_t n, const float* x);
/// Computes y += x.
void add_to(std::int64_t n, const float* x, float* y);
/// Sets the tensor to `part` (equally many elements, dense), or adds `part` to it, rounding once.
void put_sum(const void* part, DType type, const TensorView& sum, bool add, Scratch&);

}  // namespace trainyard
