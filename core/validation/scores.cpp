#include <algorithm>
#include <cmath>
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

std::optional<double> kendall_tau(std::span<const double> measured,
                                  std::span<const double> predicted, double apart) {
  long agreeing = 0, pairs = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double low = std::min(measured[i], measured[j]);
      if (std::abs(measured[i] - measured[j]) <= apart * low) continue;
      const double both = (measured[i] - measured[j]) * (predicted[i] - predicted[j]);
      agreeing += both > 0 ? 1 : both < 0 ? -1 : 0;
      ++pairs;
    }
  }
  if (pairs == 0) return std::nullopt;
  return static_cast<double>(agreeing) / static_cast<double>(pairs);
}

}  // namespace trainyard
