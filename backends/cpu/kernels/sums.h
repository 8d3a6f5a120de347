// Sums that several kernels take.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/kernel.h"

namespace trainyard {

/// Of the elements, in 4-byte floats, in lanes of a fixed order.
float total_of(std::int64_t n, const float* x);
/// y += x.
void add_to(std::int64_t n, const float* x, float* y);
/// The tensor becomes `part` (as many elements, dense), or it plus `part`, rounded once.
void put_sum(const void* part, DType type, const View& sum, bool add, Scratch&);

}  // namespace trainyard
