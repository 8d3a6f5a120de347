#include "core/validation/rank_correlation.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace trainyard {
namespace {

using Values = std::vector<double>;

// 1 - 6 * sum of squared differences / (n * (n * n - 1)), where nothing is equal.
TEST(RankCorrelation, IsSpearmansFormula) {
  const Values a = {1, 2, 3, 4, 5}, b = {20, 10, 40, 30, 50};
  EXPECT_NEAR(*rank_correlation(a, b), 1 - 6 * 4.0 / (5 * 24), 1e-12);
  EXPECT_DOUBLE_EQ(*rank_correlation(a, a), 1);
  EXPECT_DOUBLE_EQ(*rank_correlation(a, Values{5, 4, 3, 2, 1}), -1);
}

// Ranks 0.5, 0.5, 2 against 0, 1, 2: covariance 1.5, variances 1.5 and 2.
TEST(RankCorrelation, EqualValuesShareTheirRanks) {
  EXPECT_NEAR(*rank_correlation(Values{7, 7, 9}, Values{1, 2, 3}), 1.5 / std::sqrt(3.0), 1e-12);
}

TEST(RankCorrelation, OfNothingThatIsOrderedIsEmpty) {
  EXPECT_FALSE(rank_correlation({}, {}));
  EXPECT_FALSE(rank_correlation(Values{1}, Values{1}));
  EXPECT_FALSE(rank_correlation(Values{1, 1}, Values{1, 2}));
}

RC_GTEST_PROP(RankCorrelation, StaysUnderAnyRisingScale, ()) {
  Values a, b, scaled;
  for (int i = *rc::gen::inRange(2, 30); i > 0; --i) {
    a.push_back(*rc::gen::inRange(-20, 20)), b.push_back(*rc::gen::inRange(-20, 20));
    scaled.push_back(std::exp(a.back()));
  }
  const auto found = rank_correlation(a, b);
  RC_ASSERT(found == rank_correlation(scaled, b));
  RC_ASSERT(found == rank_correlation(b, a));
  if (found) RC_ASSERT(std::abs(*found) <= 1 + 1e-12);
}

}  // namespace
}  // namespace trainyard
