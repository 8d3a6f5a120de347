// Computes the softmax of one row, for losses and attention.
#pragma once

#include <cmath>

#include "backends/cpu/kernels/lanes.h"

namespace trainyard {

TRAINYARD_INLINE float largest_of(std::int64_t n, const float* x) {
  float result = x[0];
  std::int64_t i = 0;
  if (n >= kLanes) {
    Lanes most = load(x);
    for (i = kLanes; i + kLanes <= n; i += kLanes) most = larger(most, load(x + i));
    result = largest(most);
  }
  for (; i < n; ++i) result = x[i] > result ? x[i] : result;
  return result;
}

/// Computes y = e^(factor (x - most)), where `most` is the largest x, and returns the sum of y. x
/// and y may be the same.
TRAINYARD_INLINE float exponentials(std::int64_t n, const float* x, float factor, float most,
                                    float* y) {
  Lanes total{};
  float rest = 0;
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Lanes e = falling_exponential((load(x + i) - most) * factor);
    store(y + i, e);
    total += e;
  }
  if (i < n) {
    store(y + i, falling_exponential((load(x + i, n - i) - most) * factor), n - i);
    for (; i < n; ++i) rest += y[i];
  }
  return sum(total) + rest;
}

/// Computes y = softmax(factor x) for factor > 0 and returns the logarithm of the sum of e^(factor
/// x). x and y may be the same.
TRAINYARD_INLINE float softmax_row(std::int64_t n, const float* x, float factor, float* y) {
  const float most = largest_of(n, x);
  const float total = exponentials(n, x, factor, most, y), share = 1 / total;
  each_lane(n, y, false, [share](Lanes e) TRAINYARD_INLINED { return e * share; }, y);
  return most * factor + std::log(total);
}

}  // namespace trainyard
