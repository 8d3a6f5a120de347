// A number of the standard normal distribution is made of two uniform ones (Box and Muller, "A Note
// on the Generation of Random Normal Deviates", 1958).
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "core/base/random.h"

namespace trainyard {

/// Draws 2 * index and 2 * index + 1 of the generator.
inline double drawn_normal(const Random& random, std::uint64_t index) {
  return std::sqrt(-2 * std::log(1 - random.uniform(2 * index))) *
         std::cos(2 * std::numbers::pi * random.uniform(2 * index + 1));
}

}  // namespace trainyard
