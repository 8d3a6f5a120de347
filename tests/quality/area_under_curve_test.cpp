// Tests the area under the curve by its definition: pairs of samples that are in the right order.
#include "core/quality/area_under_curve.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <vector>

namespace trainyard {
namespace {

double by_pairs(const std::vector<float>& scores, const std::vector<std::int32_t>& labels) {
  double right = 0, pairs = 0;
  for (std::size_t i = 0; i < scores.size(); ++i)
    for (std::size_t j = 0; j < scores.size(); ++j)
      if (labels[i] == 1 && labels[j] == 0) {
        pairs += 1;
        right += scores[i] > scores[j] ? 1 : scores[i] == scores[j] ? 0.5 : 0;
      }
  return pairs > 0 ? right / pairs : 0.5;
}

TEST(AreaUnderCurve, IsTheShareOfPairsInTheRightOrder) {
  EXPECT_TRUE(rc::check("pairs", [] {
    const auto drawn = *rc::gen::container<std::vector<std::pair<int, bool>>>(
        rc::gen::pair(rc::gen::inRange(0, 6), rc::gen::arbitrary<bool>()));
    std::vector<float> scores;
    std::vector<std::int32_t> labels;
    for (const auto& [score, label] : drawn) {
      scores.push_back(static_cast<float>(score));
      labels.push_back(label ? 1 : 0);
    }
    const double found = area_under_curve(scores, labels), wanted = by_pairs(scores, labels);
    RC_ASSERT(found > wanted - 1e-12 && found < wanted + 1e-12);
  }));
}

TEST(AreaUnderCurve, OfOrdersByHand) {
  EXPECT_EQ(area_under_curve(std::vector<float>{1, 2, 3, 4}, std::vector<std::int32_t>{0, 0, 1, 1}),
            1);
  EXPECT_EQ(area_under_curve(std::vector<float>{4, 3, 2, 1}, std::vector<std::int32_t>{0, 0, 1, 1}),
            0);
  EXPECT_EQ(area_under_curve(std::vector<float>{1, 2, 3, 4}, std::vector<std::int32_t>{0, 1, 0, 1}),
            0.75);
  EXPECT_EQ(area_under_curve(std::vector<float>{1, 2}, std::vector<std::int32_t>{1, 1}), 0.5);
}

}  // namespace
}  // namespace trainyard
