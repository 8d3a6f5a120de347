#include "core/model/hot_rows.h"

#include <algorithm>
#include <cmath>

namespace trainyard {
namespace {

bool is_harmonic(double exponent) { return std::abs(exponent - 1) < 1e-9; }

// The integral of 1 / x^s from 1 to `to`.
double mass(double to, double exponent) {
  if (is_harmonic(exponent)) return std::log(to);
  return (std::pow(to, 1 - exponent) - 1) / (1 - exponent);
}

}  // namespace

std::int64_t zipf_row(double u, std::int64_t rows, double exponent) {
  const double whole = mass(static_cast<double>(rows) + 1, exponent);
  const double drawn = is_harmonic(exponent)
                           ? std::exp(u * whole) - 1
                           : std::pow(1 + u * whole * (1 - exponent), 1 / (1 - exponent)) - 1;
  return std::min(static_cast<std::int64_t>(drawn), rows - 1);
}

double zipf_share(std::int64_t first, std::int64_t rows, double exponent) {
  return mass(static_cast<double>(std::clamp<std::int64_t>(first, 0, rows)) + 1, exponent) /
         mass(static_cast<double>(rows) + 1, exponent);
}

double zipf_reached(std::int64_t first, std::int64_t rows, double exponent, std::int64_t lookups) {
  // Rows of nearly the same chance are taken together: ranges that grow by a sixteenth.
  constexpr std::int64_t kSixteenth = 16;
  const std::int64_t end = std::min(first, rows);
  double reached = 0;
  for (std::int64_t from = 0; from < end;) {
    const std::int64_t to = std::min(end, from + 1 + from / kSixteenth);
    const auto count = static_cast<double>(to - from);
    const double chance =
        (zipf_share(to, rows, exponent) - zipf_share(from, rows, exponent)) / count;
    reached -=
        count * std::expm1(static_cast<double>(lookups) * std::log1p(-std::min(chance, 1 - 1e-12)));
    from = to;
  }
  return reached;
}

std::vector<std::int64_t> most_frequent(std::span<const std::int64_t> lookups,
                                        std::int64_t capacity) {
  std::vector<std::int64_t> sorted(lookups.begin(), lookups.end());
  std::sort(sorted.begin(), sorted.end());
  struct Counted {
    std::int64_t row, count;
  };
  std::vector<Counted> counted;
  for (const std::int64_t row : sorted) {
    if (counted.empty() || counted.back().row != row) counted.push_back({row, 0});
    ++counted.back().count;
  }
  std::stable_sort(counted.begin(), counted.end(),
                   [](const Counted& a, const Counted& b) { return a.count > b.count; });
  std::vector<std::int64_t> rows;
  const std::size_t held = std::min(counted.size(), static_cast<std::size_t>(capacity));
  for (std::size_t i = 0; i < held; ++i) rows.push_back(counted[i].row);
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace trainyard
