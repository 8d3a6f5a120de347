#include "core/validation/cluster_factor.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace trainyard {

StepErrorSpread error_spread(const std::vector<ValidatedRow>& rows, bool routed,
                             const std::string& without) {
  std::map<std::string, std::vector<double>> groups;
  for (const ValidatedRow& row : rows)
    if (!row.memory && row.routed == routed && row.source != without)
      groups[row.group].push_back(row.log_error);
  double inside = 0, freedom = 0, means = 0, shares = 0;
  for (const auto& [name, errors] : groups) {
    const auto count = static_cast<double>(errors.size());
    const double mean = std::accumulate(errors.begin(), errors.end(), 0.0) / count;
    means += mean * mean, shares += 1 / count;
    if (errors.size() < 2) continue;
    double squares = 0;
    for (const double error : errors) squares += (error - mean) * (error - mean);
    inside += squares / (count - 1), ++freedom;
  }
  if (freedom == 0) return {};
  const double within = inside / freedom, number = static_cast<double>(groups.size());
  // The mean of a group is off by what its own rows spread.
  const double between = std::max(0.0, (means - within * shares) / number);
  return {std::sqrt(between), std::sqrt(within)};
}

StepFactor cluster_factor(const std::vector<double>& log_errors, const StepErrorSpread& spread) {
  const auto count = static_cast<double>(log_errors.size());
  const double between = spread.between * spread.between, within = spread.within * spread.within;
  if (log_errors.empty() || !(between > 0)) return {};
  const double mean = std::accumulate(log_errors.begin(), log_errors.end(), 0.0) / count;
  const double trust = between / (between + within / count);
  const double left = between * (1 - trust) + within;
  return {std::exp(-trust * mean), std::sqrt(left / (between + within))};
}

std::vector<std::size_t> rows_given_back(const RowSet& set, std::vector<std::size_t> rows,
                                         std::size_t count) {
  std::stable_sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) {
    return set.rows[a].measured < set.rows[b].measured;
  });
  const std::size_t first = rows[rows.size() / 6], middle = rows[rows.size() / 2],
                    last = rows[rows.size() * 5 / 6];
  if (count == 1) return {middle};
  if (count == 2) return {first, last};
  return {first, middle, last};
}

}  // namespace trainyard
