// This file has sums and products that stop at the largest value instead of overflowing. For times
// the largest value is Duration::max(), which core/base/units.h uses for work that never ends; for
// counts it is more than any machine holds. Operands must not be negative.
#pragma once

#include <cstdint>
#include <limits>

#include "core/base/units.h"

namespace trainyard {

constexpr Duration saturating_sum(Duration a, Duration b) {
  return a > Duration::max() - b ? Duration::max() : a + b;
}
constexpr Duration saturating_product(Duration one, std::int64_t times) {
  return times > 0 && one > Duration::max() / times ? Duration::max() : one * times;
}

constexpr std::int64_t saturating_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}
constexpr std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max()
                                                : product;
}

}  // namespace trainyard
