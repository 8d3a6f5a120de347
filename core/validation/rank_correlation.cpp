#include "core/validation/rank_correlation.h"

#include <cmath>
#include <cstddef>
#include <vector>

#include "core/base/doubled_ranks.h"

namespace trainyard {
std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b) {
  if (a.size() < 2) return std::nullopt;
  const std::vector<std::int64_t> x_ranks = doubled_ranks(a), y_ranks = doubled_ranks(b);
  const std::vector<double> x(x_ranks.begin(), x_ranks.end()), y(y_ranks.begin(), y_ranks.end());
  const auto mean = static_cast<double>(a.size() - 1);
  double xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean) * (x[i] - mean), yy += (y[i] - mean) * (y[i] - mean);
    xy += (x[i] - mean) * (y[i] - mean);
  }
  if (xx <= 0 || yy <= 0) return std::nullopt;
  return xy / std::sqrt(xx * yy);
}

}  // namespace trainyard
