#include "core/result/rank_tests.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace trainyard {
namespace {

// Ranks of values, equal ones sharing their mean.
std::vector<double> ranks_by_counting(const std::vector<double>& values) {
  std::vector<double> ranks;
  for (const double x : values) {
    double below = 0, equal = 0;
    for (const double y : values) below += y < x, equal += y == x;
    ranks.push_back(below + (equal + 1) / 2);
  }
  return ranks;
}

// Twice the smaller tail over all ways, each of which is one bit a figure.
double tail_of_all(int figures, double found, const std::vector<double>& ranks, int chosen) {
  std::int64_t ways = 0, below = 0, above = 0;
  for (int bits = 0; bits < 1 << figures; ++bits) {
    int ones = 0;
    double sum = 0;
    for (int i = 0; i < figures; ++i)
      if ((bits >> i) % 2 == 1) ++ones, sum += ranks[static_cast<std::size_t>(i)];
    if (chosen >= 0 && ones != chosen) continue;
    ++ways;
    below += sum <= found, above += sum >= found;
  }
  return std::min(1.0, 2 * static_cast<double>(std::min(below, above)) / static_cast<double>(ways));
}

TEST(RankTests, QuantilesOfTheNormalDistribution) {
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-12);
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-12);
  EXPECT_NEAR(normal_quantile(0.05), -1.6448536269514722, 1e-12);
}

// The examples with which textbooks teach them.
TEST(RankTests, KnownProbabilities) {
  const std::vector<double> wins = {1, 2, 3, 4, 5};
  EXPECT_DOUBLE_EQ(signed_rank_test(wins), 2.0 / 32);
  EXPECT_DOUBLE_EQ(least_signed_rank(5), 2.0 / 32);
  const std::vector<double> low = {1, 2, 3}, high = {4, 5, 6};
  EXPECT_DOUBLE_EQ(rank_sum_test(low, high), 2.0 / 20);
  EXPECT_NEAR(least_rank_sum(3, 3), 2.0 / 20, 1e-12);
  EXPECT_EQ(signed_rank_test({}), 1);
  EXPECT_EQ(rank_sum_test(low, {}), 1);
}

RC_GTEST_PROP(RankTests, SignedRanksAreThoseOfAllSigns, ()) {
  const auto whole = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-6, 7));
  std::vector<double> differences, sizes;
  double found = 0;
  for (const int d : whole)
    if (differences.size() < 10) differences.push_back(d);
  for (const double d : differences)
    if (d != 0) sizes.push_back(std::abs(d));
  const std::vector<double> ranks = ranks_by_counting(sizes);
  std::size_t at = 0;
  for (const double d : differences)
    if (d != 0) {
      if (d > 0) found += ranks[at];
      ++at;
    }
  const double expected =
      sizes.empty() ? 1 : tail_of_all(static_cast<int>(sizes.size()), found, ranks, -1);
  RC_ASSERT(std::abs(signed_rank_test(differences) - expected) < 1e-12);
}

RC_GTEST_PROP(RankTests, RankSumsAreThoseOfAllChoices, ()) {
  const int m = *rc::gen::inRange(1, 6), n = *rc::gen::inRange(1, 6);
  std::vector<double> a, b;
  for (int i = 0; i < m; ++i) a.push_back(*rc::gen::inRange(0, 7));
  for (int i = 0; i < n; ++i) b.push_back(*rc::gen::inRange(0, 7));
  std::vector<double> both = a;
  both.insert(both.end(), b.begin(), b.end());
  const std::vector<double> ranks = ranks_by_counting(both);
  double found = 0;
  for (int i = 0; i < m; ++i) found += ranks[static_cast<std::size_t>(i)];
  RC_ASSERT(std::abs(rank_sum_test(a, b) - tail_of_all(m + n, found, ranks, m)) < 1e-12);
  RC_ASSERT(std::abs(rank_sum_test(a, b) - rank_sum_test(b, a)) < 1e-12);
}

// Beyond 60 figures the normal distribution stands for the count: they agree where they meet.
TEST(RankTests, TheNormalDistributionGoesOnWhereCountingEnds) {
  std::vector<double> differences, a, b;
  for (int i = 0; i < 60; ++i) differences.push_back(i % 3 == 0 ? -i - 0.5 : i + 0.5);
  const double exact = signed_rank_test(differences);
  differences.push_back(0.25);
  EXPECT_NEAR(signed_rank_test(differences), exact, 0.03 * exact + 0.001);
  for (int i = 0; i < 30; ++i) a.push_back(i), b.push_back(i + 6.5);
  const double counted = rank_sum_test(a, b);
  a.push_back(15.25);
  EXPECT_NEAR(rank_sum_test(a, b), counted, 0.1 * counted + 0.002);
}

}  // namespace
}  // namespace trainyard
