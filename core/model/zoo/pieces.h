// This file defines into how many pieces a collective and the product beside it are cut so that
// they overlap.
#pragma once

#include <cstdint>

namespace trainyard {

/// A number of pieces so large that none waits for another, because collective and product do not
/// depend on each other.
inline constexpr std::int32_t kIndependent = 1 << 20;

}  // namespace trainyard
