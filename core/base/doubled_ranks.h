// Ranks of figures, where equal ones share the mean of their ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace trainyard {

/// Returns twice the rank of each value, which is a whole number where ranks are shared. The lowest
/// rank is 0.
std::vector<std::int64_t> doubled_ranks(std::span<const double> values);

}  // namespace trainyard
