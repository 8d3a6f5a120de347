// Sums and products of times that may be "never": both stop at Duration::max(), which is how
// core/base/units.h says that something does not end. No part is negative.
#pragma once

#include "core/base/units.h"

namespace trainyard {

constexpr Duration saturating_sum(Duration a, Duration b) {
  return a > Duration::max() - b ? Duration::max() : a + b;
}
constexpr Duration saturating_product(Duration one, std::int64_t times) {
  return times > 0 && one > Duration::max() / times ? Duration::max() : one * times;
}

}  // namespace trainyard
