#include "core/result/outperforming.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "core/base/random.h"

namespace trainyard {
namespace {

constexpr std::int64_t kTrials = 1000;

double normal_draw(const Random& random, std::uint64_t index) {
  const double u = 1 - random.uniform(2 * index), angle = random.uniform(2 * index + 1);
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * angle);
}

// Runs of two systems whose figures are normal, B's higher by so many deviations.
OutperformingScores drawn_scores(std::int64_t trial, std::int64_t runs, double apart, bool paired) {
  OutperformingScores scores;
  scores.paired = paired;
  const Random random(7, static_cast<std::uint64_t>(trial));
  for (std::int64_t i = 0; i < runs; ++i) {
    scores.a.push_back(normal_draw(random, static_cast<std::uint64_t>(2 * i)));
    scores.b.push_back(apart + normal_draw(random, static_cast<std::uint64_t>(2 * i + 1)));
  }
  return scores;
}

// Counts how many of a thousand comparisons say that one of the two is better.
std::int64_t claims(std::int64_t runs, double apart, bool paired) {
  std::int64_t count = 0;
  for (std::int64_t t = 0; t < kTrials; ++t) {
    const Outperforming v = outperforming(drawn_scores(t, runs, apart, paired));
    if (v.outcome == RunsVerdict::Better || v.outcome == RunsVerdict::NotMeaningful) ++count;
  }
  return count;
}

// The deviations at which B's run wins in three of four pairs.
constexpr double kThreeOfFour = 0.9538725524;

TEST(Outperforming, NoethersTableOfRuns) {
  EXPECT_NEAR(noether_runs(0.65), 80.2, 0.05);
  EXPECT_NEAR(noether_runs(0.7), 45.1, 0.05);
  EXPECT_NEAR(noether_runs(0.75), 28.9, 0.05);
  EXPECT_EQ(std::ceil(noether_runs(0.75)), 29);
  EXPECT_NEAR(noether_runs(0.8), 20.0, 0.05);
  EXPECT_NEAR(noether_runs(0.9), 11.3, 0.05);
}

// Bars of REL-05. Both directions are counted together.
TEST(Outperforming, NamesAWinnerBetweenEqualsInOneOfTwentyAtMost) {
  for (const bool paired : {true, false})
    for (const std::int64_t runs : {3, 6, 8, 12, 20, 29})
      EXPECT_LE(claims(runs, 0, paired), kTrials / 20) << runs << (paired ? " pairs" : " runs");
}

TEST(Outperforming, FindsADifferenceOfThreeInFourWithNoethersRuns) {
  EXPECT_GE(claims(29, kThreeOfFour, true), 780);
  EXPECT_GE(claims(29, kThreeOfFour, false), 780);
}

// A comparison of means, which this stands in place of, always names one.
TEST(Outperforming, MeansNameAWinnerBetweenEqualsEveryTime) {
  std::int64_t b_ahead = 0;
  for (std::int64_t t = 0; t < kTrials; ++t) {
    const OutperformingScores scores = drawn_scores(t, 29, 0, true);
    double sum = 0;
    for (std::size_t i = 0; i < scores.a.size(); ++i) sum += scores.b[i] - scores.a[i];
    b_ahead += sum > 0;
  }
  EXPECT_NEAR(static_cast<double>(b_ahead), kTrials / 2.0, kTrials / 20.0);
}

OutperformingScores wins(int count, int of) {
  OutperformingScores scores;
  scores.paired = true;
  for (int i = 0; i < of; ++i) {
    scores.a.push_back(0);
    scores.b.push_back(i < count ? 1 + i : -1 - i % 3);
  }
  return scores;
}

// With 20 wins in 29 pairs the bootstrap is the binomial distribution of 29 and 20/29, of which 1.5
// % lie at 14 or fewer and 3.6 % at 15 or fewer.
TEST(Outperforming, TheIntervalIsThatOfTheBinomialDistribution) {
  const Outperforming v = outperforming(wins(20, 29));
  EXPECT_DOUBLE_EQ(v.probability, 20.0 / 29);
  EXPECT_DOUBLE_EQ(v.low, 15.0 / 29);
  EXPECT_DOUBLE_EQ(v.high, 25.0 / 29);
}

TEST(Outperforming, SwappedSidesAreMirrored) {
  for (std::int64_t t = 0; t < 50; ++t) {
    OutperformingScores scores = drawn_scores(t, 15, 0.6, true);
    const Outperforming there = outperforming(scores);
    std::swap(scores.a, scores.b);
    const Outperforming back = outperforming(scores);
    EXPECT_NEAR(there.probability, 1 - back.probability, 1e-12);
    EXPECT_NEAR(there.low, 1 - back.high, 1e-12);
    EXPECT_NEAR(there.p_value, back.p_value, 1e-12);
    EXPECT_EQ(there.outcome, back.outcome);
    scores.less_is_better = true;
    EXPECT_NEAR(outperforming(scores).probability, there.probability, 1e-12);
  }
}

TEST(Outperforming, SaysWhatFewRunsCannotSay) {
  const Outperforming one = outperforming({{1}, {2}, false, true});
  EXPECT_EQ(one.outcome, RunsVerdict::TooFew);
  EXPECT_EQ(one.needed, 28);
  EXPECT_EQ(outperforming_sentence(one),
            "Too few runs to tell A from B: 1 pair, and with so few chance alone may do that. 28 "
            "more runs of each would find a difference that shows in 75 % of pairs.");
  EXPECT_EQ(outperforming({{}, {}, false, true}).outcome, RunsVerdict::TooFew);
  EXPECT_EQ(outperforming({{1, 2, 3}, {4, 5, 6}, false, false}).outcome, RunsVerdict::TooFew);
  EXPECT_EQ(outperforming(wins(6, 6)).outcome, RunsVerdict::Better);
  // Runs that stand on both sides differ in nothing.
  const Outperforming same =
      outperforming({{1, 2, 3, 4, 5, 6, 7}, {1, 2, 3, 4, 5, 6, 7}, false, true});
  EXPECT_EQ(same.outcome, RunsVerdict::NotSignificant);
  EXPECT_EQ(same.probability, 0.5);
}

TEST(Outperforming, IsBetterButNotByEnoughToMatter) {
  OutperformingScores scores;
  scores.paired = true;
  for (int i = 0; i < 400; ++i)
    scores.a.push_back(0), scores.b.push_back(i % 5 < 3 ? 1 + i : -1 - i);
  const Outperforming v = outperforming(scores);
  EXPECT_EQ(v.outcome, RunsVerdict::NotMeaningful);
  EXPECT_EQ(v.needed, 0);
  EXPECT_NE(outperforming_sentence(v).find("B is better, but not by enough to matter"),
            std::string::npos);
}

TEST(Outperforming, PairsMustBeEquallyMany) {
  EXPECT_THROW(outperforming({{1, 2}, {1}, false, true}), std::invalid_argument);
}

}  // namespace
}  // namespace trainyard
