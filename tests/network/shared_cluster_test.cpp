#include "core/network/shared_cluster.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

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

// Sheet GRD-06: where slots run out, hosts add up. With slots for the share x of a link a lone job
// takes 1 / (1 + (k - 1) x) of its ring's time, where a worker of the ring sends k = 2 (p - 1) / p
// times the gradients.
TEST(SharedCluster, PacketsWithoutASlotGoAroundTheRing) {
  SharedClusterQuestion question = few_messages();
  question.messages = 0;
  question.jobs = 1;
  double before = 1;
  for (const std::int64_t slots : {1, 2, 4, 8, 12, 13, 1'000}) {
    question.slots = slots;
    const SharedClusterAnswer a = shared_cluster(question);
    const double x = std::min(1.0, static_cast<double>(slots) * 1'024 / 10'000 / 1.25);
    const double k = 2 * 15.0 / 16;
    for (std::size_t row : {1u, 2u}) {
      const double ratio = a.rows[row].lone_seconds / a.rows.front().lone_seconds;
      EXPECT_NEAR(ratio, 1 / (1 + (k - 1) * x), 1e-9) << slots;
      EXPECT_LE(ratio, before) << slots;
      EXPECT_NEAR(a.rows[row].in_switches, k * x / (1 + (k - 1) * x), 1e-9) << slots;
      if (row == 2) before = ratio;
    }
    EXPECT_EQ(a.rows.front().in_switches, 0);
  }
}

RC_GTEST_PROP(SharedCluster, NoJobIsSlowerThanItsRing, ()) {
  SharedClusterQuestion question;
  question.leaves = *rc::gen::inRange<std::int64_t>(2, 12);
  question.spines = *rc::gen::inRange<std::int64_t>(1, 6);
  question.trees = *rc::gen::inRange<std::int64_t>(1, question.spines + 1);
  question.jobs = *rc::gen::inRange<std::int64_t>(1, 6);
  question.connections = *rc::gen::inRange<std::int64_t>(1, 6);
  question.slots = *rc::gen::inRange<std::int64_t>(1, 100);
  question.messages = 0;
  const SharedClusterAnswer a = shared_cluster(question);
  for (const SharedClusterRow& row : a.rows) {
    RC_ASSERT(row.lone_seconds <= a.rows.front().lone_seconds * (1 + 1e-9));
    RC_ASSERT(row.all_reduce_seconds >= row.lone_seconds * (1 - 1e-9));
  }
}

// The first job reduces from the beginning, so that of its reduction at least a part is seen.
TEST(SharedCluster, TimesOfReductionsAreFoundWithFewShortFlowsAndWithout) {
  SharedClusterQuestion question;
  const SharedClusterAnswer many = shared_cluster(question);
  for (const double gradients : {1e6, 1e9}) {
    question.gradients = Bytes{static_cast<std::int64_t>(gradients)};
    question.messages = 500;
    const SharedClusterAnswer few = shared_cluster(question);
    for (std::size_t row = 0; row < few.rows.size(); ++row) {
      EXPECT_GT(few.rows[row].all_reduce_seconds, few.rows[row].lone_seconds) << gradients;
      EXPECT_LT(few.rows[row].all_reduce_seconds / gradients,
                2 * many.rows[row].all_reduce_seconds / 1e6)
          << gradients;
    }
  }
  question = {};
  question.jobs = 1, question.messages = 0;
  for (const SharedClusterRow& row : shared_cluster(question).rows) {
    EXPECT_NEAR(row.all_reduce_seconds, row.lone_seconds, 1e-12);
    EXPECT_TRUE(row.completions.empty());
  }
}

TEST(SharedCluster, CompletionsRiseToTheSlowestShortFlow) {
  SharedClusterQuestion question;
  question.messages = 500;
  for (const SharedClusterRow& row : shared_cluster(question).rows) {
    ASSERT_EQ(row.completions.size(), 101u);
    EXPECT_TRUE(std::is_sorted(row.completions.begin(), row.completions.end()));
    EXPECT_EQ(row.completions[99], row.p99_completion);
    EXPECT_GE(row.completions[0], 100'000 / 1.25e9) << "the time of its bytes on one link";
  }
}

TEST(SharedCluster, SaysHowFarItIsAndStops) {
  SharedClusterQuestion question;
  question.messages = 500;
  std::vector<double> shares;
  shared_cluster(question, {}, [&](double share) { shares.push_back(share); });
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_EQ(shares.back(), 1);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(shared_cluster(question, stop.get_token()), Error);
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
