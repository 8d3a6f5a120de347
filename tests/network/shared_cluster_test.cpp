#include "core/network/shared_cluster.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace trainyard {
namespace {

SharedClusterQuestion few_messages() {
  SharedClusterQuestion question;
  question.messages = 3'000;
  return question;
}

// B-GRD-06: a lone job that aggregates in switches takes 0.48 to 0.55 of its ring's time.
TEST(SharedCluster, ALoneJobTakesHalfOfItsRingsTimeInTheSwitches) {
  SharedClusterQuestion question = few_messages();
  question.messages = 0;
  for (const std::int64_t leaves : {16, 24, 32}) {
    question.leaves = leaves;  // as many workers: p of them take p / (2 (p - 1))
    const SharedClusterAnswer a = shared_cluster(question);
    for (std::size_t row = 1; row < a.rows.size(); ++row) {
      const double ratio = a.rows[row].lone_seconds / a.rows.front().lone_seconds;
      EXPECT_GE(ratio, 0.48) << leaves;
      EXPECT_LE(ratio, 0.55) << leaves;
    }
  }
}

// B-GRD-06: with 8 jobs and short flows at 30 % of the links, the slowest of a hundred short flows
// completes at least twice as fast; and four trees of a job spread its bytes over the links.
TEST(SharedCluster, ShortFlowsCompleteTwiceAsFastBesideAggregation) {
  const SharedClusterAnswer a = shared_cluster(few_messages());
  ASSERT_EQ(a.rows.size(), 3U);
  EXPECT_GE(a.rows[0].p99_completion / a.rows[2].p99_completion, 2);
  EXPECT_GE(a.rows[0].mean_completion / a.rows[2].mean_completion, 1);
  EXPECT_LT(a.rows[2].all_reduce_seconds, a.rows[0].all_reduce_seconds);
}

TEST(SharedCluster, FourTreesLoadTheWorstLinkLessThanOne) {
  const SharedClusterAnswer a = shared_cluster(few_messages());
  EXPECT_GE(a.rows[1].worst_link / a.rows[2].worst_link, 1.3);
}

// Several connections between neighbours spread a ring's bytes over paths, and take as many shares
// of a link from short flows, which then complete later.
TEST(SharedCluster, MoreConnectionsOfRingsSpreadBytesAndHoldShortFlowsBack) {
  SharedClusterQuestion one, four;
  one.connections = 1, four.connections = 4;
  const SharedClusterAnswer alone = shared_cluster(one), spread = shared_cluster(four);
  EXPECT_GT(alone.rows[0].worst_link, spread.rows[0].worst_link);
  EXPECT_LT(alone.rows[0].p99_completion, spread.rows[0].p99_completion);
  EXPECT_EQ(alone.rows[2].lone_seconds, spread.rows[2].lone_seconds);
}

TEST(SharedCluster, FewSlotsHoldTreesBack) {
  SharedClusterQuestion question = few_messages();
  question.messages = 0;
  const SharedClusterAnswer many = shared_cluster(question);
  question.slots = 64;
  const SharedClusterAnswer few = shared_cluster(question);
  EXPECT_GT(few.rows[2].lone_seconds, many.rows[2].lone_seconds);
  EXPECT_EQ(few.rows[0].lone_seconds, many.rows[0].lone_seconds);
}

TEST(SharedCluster, RefusesWhatIsOutOfRange) {
  SharedClusterQuestion question;
  question.trees = 5;
  EXPECT_THROW(shared_cluster(question), Error);
  question = {};
  question.load = 1;
  EXPECT_THROW(shared_cluster(question), Error);
}

}  // namespace
}  // namespace trainyard
