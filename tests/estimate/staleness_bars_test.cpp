// Tests how counts become bars.
#include "core/estimate/staleness_bars.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace trainyard {
namespace {

TEST(StalenessBars, AreAsWideAsTheyMustBe) {
  const std::vector<std::int64_t> counts = {0, 0, 3, 1, 4, 2};
  const StalenessBars each = staleness_bars(counts, 4);
  ASSERT_EQ(each.bars.size(), 4u);
  EXPECT_EQ(each.bars.front().from, 2u);
  EXPECT_EQ(each.bars.front().to, 2u);
  EXPECT_DOUBLE_EQ(each.bars.front().share, 0.3);
  EXPECT_DOUBLE_EQ(each.mean, 3.5);
  EXPECT_EQ(each.older, 0);
  const StalenessBars pairs = staleness_bars(counts, 2);
  ASSERT_EQ(pairs.bars.size(), 2u);
  EXPECT_EQ(pairs.bars.back().from, 4u);
  EXPECT_EQ(pairs.bars.back().to, 5u);
  EXPECT_DOUBLE_EQ(pairs.bars.back().share, 0.6);
}

TEST(StalenessBars, LeaveOutTheLastHundredth) {
  std::vector<std::int64_t> counts(1001);
  counts[1] = 199, counts[1000] = 1;
  const StalenessBars found = staleness_bars(counts, 8);
  ASSERT_EQ(found.bars.size(), 1u);
  EXPECT_DOUBLE_EQ(found.older, 0.005);
  EXPECT_NE(staleness_text(found, 1).find("<- expected mean, 1"), std::string::npos);
  EXPECT_NE(staleness_text(found, 1).find("more"), std::string::npos);
}

TEST(StalenessBars, OfNothingAreNone) {
  EXPECT_TRUE(staleness_bars({}, 4).bars.empty());
  EXPECT_TRUE(staleness_bars(std::vector<std::int64_t>{0, 0}, 4).bars.empty());
  EXPECT_EQ(staleness_text({}, 3), "");
}

RC_GTEST_PROP(StalenessBars, HoldAllThatWasCounted, ()) {
  const auto counts =
      *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 50));
  const auto most = *rc::gen::inRange<std::size_t>(1, 20);
  const StalenessBars found = staleness_bars(counts, most);
  RC_ASSERT(found.bars.size() <= most);
  double sum = found.older;
  for (const StaleBar& bar : found.bars) sum += bar.share;
  std::int64_t all = 0;
  for (const std::int64_t count : counts) all += count;
  RC_ASSERT(std::abs(sum - (all == 0 ? 0 : 1)) < 1e-12);
}

}  // namespace
}  // namespace trainyard
