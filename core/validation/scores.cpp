#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/validation/fit.h"

namespace trainyard {

double weighted_quantile(std::span<const double> values, std::span<const double> weights,
                         double share) {
  std::vector<std::pair<double, double>> errors;
  double total = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (weights[i] <= 0) continue;
    errors.emplace_back(std::abs(std::expm1(values[i])), weights[i]);
    total += weights[i];
  }
  std::sort(errors.begin(), errors.end());
  // The factor allows for rounding: sums of thirds and sevenths miss the whole slightly.
  const double enough = share * total * (1 - 1e-12);
  double sum = 0;
  for (const auto& [error, weight] : errors) {
    sum += weight;
    if (sum >= enough) return error;
  }
  return errors.empty() ? 0 : errors.back().first;
}

// Counts pairs in n log n steps: rows enter by their measured value, each once those that lie too
// near below the next have to wait no longer, into a tree of counts by rank of the predicted value.
std::optional<double> kendall_tau(std::span<const double> measured,
                                  std::span<const double> predicted, double apart) {
  const std::size_t n = measured.size();
  std::vector<std::size_t> by_measured(n);
  std::iota(by_measured.begin(), by_measured.end(), std::size_t{0});
  std::sort(by_measured.begin(), by_measured.end(),
            [&](std::size_t a, std::size_t b) { return measured[a] < measured[b]; });
  std::vector<double> ranks(predicted.begin(), predicted.end());
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::vector<long> tree(ranks.size() + 1);
  const auto below = [&](std::size_t end) {  // entered rows with a rank before end
    long count = 0;
    for (; end > 0; end &= end - 1) count += tree[end];
    return count;
  };
  long agreeing = 0, pairs = 0, entered = 0;
  for (const std::size_t i : by_measured) {
    for (; static_cast<std::size_t>(entered) < n; ++entered) {
      const std::size_t j = by_measured[static_cast<std::size_t>(entered)];
      if (measured[i] - measured[j] <= apart * measured[j]) break;
      const auto rank = std::lower_bound(ranks.begin(), ranks.end(), predicted[j]) - ranks.begin();
      for (auto at = static_cast<std::size_t>(rank) + 1; at < tree.size(); at += at & (~at + 1))
        ++tree[at];
    }
    const auto [first, last] = std::equal_range(ranks.begin(), ranks.end(), predicted[i]);
    agreeing += below(static_cast<std::size_t>(first - ranks.begin()));
    agreeing -= entered - below(static_cast<std::size_t>(last - ranks.begin()));
    pairs += entered;
  }
  if (pairs == 0) return std::nullopt;
  return static_cast<double>(agreeing) / static_cast<double>(pairs);
}

}  // namespace trainyard
