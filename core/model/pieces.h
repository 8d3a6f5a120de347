// In how many pieces a collective and the product beside it overlap.
#pragma once

#include <cstdint>

namespace trainyard {

/// So many pieces that none waits for another: the two have nothing to do with each other.
inline constexpr std::int32_t kIndependent = 1 << 20;

}  // namespace trainyard
