// Spearman's rank correlation says how far one figure orders things as another does, whatever the
// scale of either.
#pragma once

#include <optional>
#include <span>

namespace trainyard {

/// In [-1, 1]: the correlation of the ranks, where equal values share the mean of their ranks.
/// Empty for fewer than two values, or where all of one side are equal. Both must be equally long.
std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b);

}  // namespace trainyard
