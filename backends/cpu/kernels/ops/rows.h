// The steps of a recurrence on one row of its state.
#pragma once

#include <cmath>
#include <cstdint>

namespace trainyard {

/// y += factor * x, y *= factor, and the sum of x * y, each over n elements.
void add_row(std::int64_t n, float factor, const float* x, float* y);
void scale_row(std::int64_t n, float factor, float* y);
float product_of_rows(std::int64_t n, const float* x, const float* y);

/// The logarithm of 1 + e^x, which is x where e^x has no room.
inline float softplus(float x) { return x > 20 ? x : std::log1p(std::exp(x)); }

}  // namespace trainyard
