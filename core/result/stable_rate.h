// The largest rate at which descent with old gradients is stable.
#pragma once

#include <cmath>
#include <numbers>

namespace trainyard {

/// For plain SGD with gradients that are `delay` >= 0 updates old, relative to that without delay:
/// sin(pi / (4 delay + 2)) (Yang et al., "PipeMare", MLSys 2021). 1 without delay, 0.5 with one
/// update.
inline double stable_rate_share(double delay) {
  return std::sin(std::numbers::pi / (4 * delay + 2));
}

}  // namespace trainyard
