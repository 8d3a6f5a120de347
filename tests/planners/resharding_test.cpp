#include "planners/sensitivity/resharding.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/planners/random_plans.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

Scenario sharded_with(const std::string& more) {
  return open({"llama-3-8b", "h100-sxm:64", "", {"zero=3", "global-batch=512 " + more}});
}

TEST(Resharding, BothEndsAreThePlans) {
  for (const std::string more : {"tp=1", "hybrid=8", "pp=2", "recompute=full"}) {
    const std::vector<Resharding> all = reshardings(sharded_with(more), testing::costs());
    EXPECT_EQ(all.front().ranks, 1);
    EXPECT_EQ(all.front().figures.step,
              estimate(sharded_with(more + " reshard-after-forward=off")).step.value);
    const Result on = estimate(sharded_with(more + " reshard-after-forward=on"));
    EXPECT_EQ(all.back().figures.step, on.step.value);
    EXPECT_EQ(all.back().figures.margin, on.verdict.margin);
    EXPECT_EQ(all.back().held, 0_B);
  }
}

// Two bytes for each of 8030261248 parameters, divided over the group; a byte more where a layer
// does not divide.
TEST(Resharding, HoldsAnNthOfAllWeights) {
  const std::vector<Resharding> all = reshardings(sharded_with("tp=1"), testing::costs());
  ASSERT_EQ(all.size(), 7u);  // 1, 2, 4 ... 64
  for (const Resharding& r : testing::non_empty(all))
    if (r.ranks < 64) {
      EXPECT_EQ(r.held.value, 2 * 8030261248 / r.ranks) << r.ranks;
    }
}

// Backward gathers from a node in less time than from all ranks; only its traffic changes.
TEST(Resharding, ASmallerGroupIsNotSlower) {
  const std::vector<Resharding> all = reshardings(sharded_with("tp=1"), testing::costs());
  for (std::size_t i = 1; i < all.size(); ++i) {
    EXPECT_LE(all[i - 1].figures.step, all[i].figures.step) << all[i].ranks;
    EXPECT_GE(all[i - 1].held, all[i].held) << all[i].ranks;
  }
}

TEST(Resharding, NeedsShardedWeights) {
  EXPECT_THROW(reshardings(sharded_with("zero=1"), testing::costs()), Error);
}

}  // namespace
}  // namespace trainyard
