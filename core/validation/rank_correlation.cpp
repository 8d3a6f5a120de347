#include "core/validation/rank_correlation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace trainyard {
namespace {

// Twice the mean of the ranks of each value's equals, counted from 0: a whole number.
std::vector<double> doubled_ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t from = 0, to = 0; from < order.size(); from = to) {
    while (to < order.size() && values[order[to]] == values[order[from]]) ++to;
    for (std::size_t i = from; i < to; ++i) ranks[order[i]] = static_cast<double>(from + to - 1);
  }
  return ranks;
}

}  // namespace

std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b) {
  if (a.size() < 2) return std::nullopt;
  const std::vector<double> x = doubled_ranks(a), y = doubled_ranks(b);
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
