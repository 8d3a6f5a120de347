#include "core/base/units.h"

#include <cmath>

namespace trainyard {

Duration seconds(double s) {
  if (!(s > 0)) return Duration{0};
  const double ns = s * 1e9;
  constexpr double kMost = 9.2e18;  // just under the largest 64-bit count
  if (ns >= kMost) return Duration::max();
  // A product of two doubles can land slightly above the whole number that it stands for; that
  // rounding error is not counted as work.
  const double whole = std::round(ns);
  if (std::abs(ns - whole) <= 1e-9 * whole) return Duration{static_cast<std::int64_t>(whole)};
  return Duration{static_cast<std::int64_t>(std::ceil(ns))};
}

Duration operator/(Bytes bytes, BytesPerSecond rate) {
  if (bytes.value <= 0) return Duration{0};
  return rate.value > 0 ? seconds(static_cast<double>(bytes.value) / rate.value) : Duration::max();
}

Duration operator/(Flops flops, FlopsPerSecond rate) {
  if (!(flops.value > 0)) return Duration{0};
  return rate.value > 0 ? seconds(flops.value / rate.value) : Duration::max();
}

}  // namespace trainyard
