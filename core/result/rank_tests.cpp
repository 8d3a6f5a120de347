#include "core/result/rank_tests.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numbers>
#include <vector>

#include "core/base/doubled_ranks.h"

namespace trainyard {
namespace {

constexpr std::size_t kMostExact = 60;

double normal_above(double z) { return std::erfc(z / std::numbers::sqrt2) / 2; }

/// Twice the rank of each value, the lowest being 1; and the sum of t^3 - t over the groups of t
/// equal values, by which ties lessen a variance.
struct TiedRanks {
  std::vector<std::int64_t> doubled;
  double ties = 0;
};

TiedRanks ranks_of(std::span<const double> values) {
  TiedRanks ranks{doubled_ranks(values)};
  std::map<std::int64_t, double> equal;  // values of each rank
  for (std::int64_t& rank : ranks.doubled) {
    rank += 2;
    ++equal[rank];
  }
  for (const auto& [rank, t] : equal) ranks.ties += t * t * t - t;
  return ranks;
}

/// Twice the smaller tail, where `ways[s]` of all ways have the sum s.
double two_sided(const std::vector<double>& ways, std::size_t found) {
  double all = 0, below = 0, above = 0;
  for (std::size_t s = 0; s < ways.size(); ++s) {
    all += ways[s];
    if (s <= found) below += ways[s];
    if (s >= found) above += ways[s];
  }
  return std::min(1.0, 2 * std::min(below, above) / all);
}

/// Uses the normal distribution, with the half step that lies between two sums of ranks.
double two_sided(double found, double mean, double variance) {
  if (variance <= 0) return 1;
  const double z = std::max(0.0, std::abs(found - mean) - 0.5) / std::sqrt(variance);
  return std::min(1.0, 2 * normal_above(z));
}

}  // namespace

double normal_quantile(double share) {
  double low = -40, high = 40;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (1 - normal_above(middle) < share ? low : high) = middle;
  }
  return (low + high) / 2;
}

double signed_rank_test(std::span<const double> differences) {
  std::vector<double> sizes;
  std::vector<bool> positive;
  for (const double d : differences)
    if (d != 0) sizes.push_back(std::abs(d)), positive.push_back(d > 0);
  if (sizes.empty()) return 1;
  const TiedRanks ranks = ranks_of(sizes);
  std::size_t found = 0, all = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto rank = static_cast<std::size_t>(ranks.doubled[i]);
    all += rank;
    if (positive[i]) found += rank;
  }
  const auto n = static_cast<double>(sizes.size());
  if (sizes.size() > kMostExact)
    return two_sided(static_cast<double>(found) / 2, n * (n + 1) / 4,
                     n * (n + 1) * (2 * n + 1) / 24 - ranks.ties / 48);
  std::vector<double> ways(all + 1);
  ways[0] = 1;
  std::size_t largest = 0;  // beyond the sum of the ranks so far there is no way yet
  for (const std::int64_t doubled : ranks.doubled) {
    const auto rank = static_cast<std::size_t>(doubled);
    largest += rank;
    for (std::size_t s = largest; s >= rank; --s) ways[s] += ways[s - rank];
  }
  return two_sided(ways, found);
}

double rank_sum_test(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty()) return 1;
  std::vector<double> values(a.begin(), a.end());
  values.insert(values.end(), b.begin(), b.end());
  const TiedRanks ranks = ranks_of(values);
  std::size_t found = 0, all = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto rank = static_cast<std::size_t>(ranks.doubled[i]);
    all += rank;
    if (i < a.size()) found += rank;
  }
  const auto m = static_cast<double>(a.size()), n = static_cast<double>(b.size()), both = m + n;
  if (values.size() > kMostExact)
    return two_sided(static_cast<double>(found) / 2, m * (both + 1) / 2,
                     m * n / 12 * (both + 1 - ranks.ties / (both * (both - 1))));
  std::vector<std::vector<double>> ways(a.size() + 1, std::vector<double>(all + 1));
  ways[0][0] = 1;
  std::size_t met = 0, largest = 0;  // ranks so far and their sum, beyond which there is no way yet
  for (const std::int64_t doubled : ranks.doubled) {
    const auto rank = static_cast<std::size_t>(doubled);
    largest += rank;
    for (std::size_t chosen = std::min(a.size(), ++met); chosen > 0; --chosen)
      for (std::size_t s = largest; s >= rank; --s) ways[chosen][s] += ways[chosen - 1][s - rank];
  }
  return two_sided(ways[a.size()], found);
}

double least_signed_rank(std::int64_t pairs) {
  return std::min(1.0, std::exp2(static_cast<double>(1 - pairs)));
}

double least_rank_sum(std::int64_t a, std::int64_t b) {
  const double choices = std::lgamma(static_cast<double>(a + b + 1)) -
                         std::lgamma(static_cast<double>(a + 1)) -
                         std::lgamma(static_cast<double>(b + 1));
  return std::min(1.0, 2 * std::exp(-choices));
}

}  // namespace trainyard
