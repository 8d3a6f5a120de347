#include "core/microcontroller/fixed_point.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace trainyard {
namespace {

std::int32_t saturated(std::int64_t value) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(
      value, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()));
}

// The upper 32 bits of 2 * a * b, to the nearest. b >= 0, so that no product is too large.
std::int32_t doubled_high_product(std::int32_t a, std::int32_t b) {
  constexpr std::int64_t kHalf = std::int64_t{1} << 30;
  const std::int64_t product = static_cast<std::int64_t>(a) * b;
  return static_cast<std::int32_t>((product + (product >= 0 ? kHalf : 1 - kHalf)) /
                                   (std::int64_t{1} << 31));
}

std::int32_t rounded_over_power(std::int32_t value, int exponent) {
  const std::int64_t mask = (std::int64_t{1} << exponent) - 1;
  const std::int64_t rest = value & mask, threshold = (mask >> 1) + (value < 0 ? 1 : 0);
  return (value >> exponent) + (rest > threshold ? 1 : 0);
}

}  // namespace

Requantisation requantisation(double real) {
  assert(real >= 0);
  if (real == 0) return {};
  if (real >= 1 << 30) return {std::numeric_limits<std::int32_t>::max(), 30};
  int exponent = 0;
  const double fraction = std::frexp(real, &exponent);  // in [0.5, 1)
  std::int64_t multiplier = std::llround(fraction * 2147483648.0);
  if (multiplier == std::int64_t{1} << 31) {
    multiplier /= 2;
    ++exponent;
  }
  if (exponent < -31) return {};
  if (exponent > 30) return {std::numeric_limits<std::int32_t>::max(), 30};
  return {static_cast<std::int32_t>(multiplier), exponent};
}

double real_factor(Requantisation by) { return std::ldexp(by.multiplier, by.shift - 31); }

std::int32_t requantised(std::int32_t value, Requantisation by) {
  const std::int32_t left =
      saturated(static_cast<std::int64_t>(value) * (std::int64_t{1} << std::max(by.shift, 0)));
  return rounded_over_power(doubled_high_product(left, by.multiplier), std::max(-by.shift, 0));
}

}  // namespace trainyard
