// Tests how long replicas wait for the slowest, and how old the gradients are that a server takes
// without waiting.
#include "core/estimate/straggling.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace trainyard {
namespace {

TEST(Straggling, TheSlowestOfOneTakesTheMeanAndWithoutSpreadAllAreEqual) {
  for (const double sigma : {0.0, 0.1, 0.3, 1.0, 1.5}) {
    EXPECT_NEAR(slowest_step(1, sigma), std::exp(sigma * sigma / 2), 1e-9);
    EXPECT_NEAR(step_of_period(1, sigma, 7), std::exp(sigma * sigma / 2), 1e-9);
  }
  for (const std::int64_t replicas : {1, 2, 100, 1'000'000}) {
    EXPECT_NEAR(slowest_step(replicas, 0), 1, 1e-9);
    EXPECT_NEAR(step_of_period(replicas, 0, 5), 1, 1e-9);
  }
}

// The larger of two normals has a closed form: 2 exp(sigma^2 / 2) N(sigma / sqrt 2).
TEST(Straggling, TheSlowerOfTwoHasAClosedForm) {
  for (const double sigma : {0.1, 0.3, 0.8})
    EXPECT_NEAR(slowest_step(2, sigma), std::exp(sigma * sigma / 2) * std::erfc(-sigma / 2), 1e-9);
}

// B-GRD-05: 1.56, 2.04 and 2.51 medians, and Gumbel's approximation within 3 %.
TEST(Straggling, GumbelApproximatesTheSlowest) {
  EXPECT_NEAR(slowest_step(8, 0.3), 1.56, 0.005);
  EXPECT_NEAR(slowest_step(64, 0.3), 2.04, 0.005);
  EXPECT_NEAR(slowest_step(512, 0.3), 2.51, 0.005);
  for (std::int64_t replicas = 4; replicas <= 1 << 16; replicas *= 2)
    for (const double sigma : {0.05, 0.1, 0.2, 0.3}) {
      const double exact = slowest_step(replicas, sigma);
      EXPECT_NEAR(gumbel_step(replicas, sigma), exact, 0.03 * exact) << replicas << " " << sigma;
    }
}

double drawn(std::int64_t replicas, double sigma, std::int64_t period, std::int64_t rounds) {
  double sum = 0;
  for (std::int64_t round = 0; round < rounds; ++round) {
    double slowest = 0;
    for (std::int64_t r = 0; r < replicas; ++r) {
      double own = 0;
      for (std::int64_t h = 0; h < period; ++h) own += drawn_step(sigma, 1, r, round * period + h);
      slowest = std::max(slowest, own);
    }
    sum += slowest / static_cast<double>(period);
  }
  return sum / static_cast<double>(rounds);
}

TEST(Straggling, AgreesWithDrawnTimes) {
  for (const std::int64_t replicas : {2, 8, 64})
    for (const double sigma : {0.1, 0.3, 0.6}) {
      const double exact = slowest_step(replicas, sigma);
      EXPECT_NEAR(drawn(replicas, sigma, 1, 4000), exact, 0.02 * exact) << replicas << " " << sigma;
      for (const std::int64_t period : {4, 16}) {
        const double approximate = step_of_period(replicas, sigma, period);
        EXPECT_NEAR(drawn(replicas, sigma, period, 1000), approximate, 0.02 * approximate)
            << replicas << " " << sigma << " " << period;
      }
    }
}

StragglingQuestion slow_question(double sigma, double lasting, double throttled) {
  StragglingQuestion q;
  q.sigma = sigma, q.lasting = lasting, q.throttled = throttled;
  return q;
}

TEST(Straggling, AThrottledReplicaHoldsUpAll) {
  EXPECT_DOUBLE_EQ(expected_step(slow_question(0, 0, 2.5), 64, 1), 2.5);
  EXPECT_NEAR(slowest_step(1, 0.3, 2), 2 * std::exp(0.045), 1e-9);
  EXPECT_NEAR(slowest_step(64, 0.3, 1), slowest_step(64, 0.3), 1e-12);
  // Far slower than all others, it alone decides.
  EXPECT_NEAR(slowest_step(64, 0.05, 20), 20 * std::exp(0.00125), 1e-9);
  for (const std::int64_t replicas : {2, 30, 1000})
    for (const double sigma : {0.05, 0.3}) {
      double before = slowest_step(replicas, sigma);
      for (const double throttled : {1.01, 1.5, 3.0, 10.0}) {
        const double now = slowest_step(replicas, sigma, throttled);
        EXPECT_GT(now, before);
        EXPECT_GE(now, throttled * std::exp(sigma * sigma / 2) * (1 - 1e-9));
        before = now;
      }
    }
}

// Formula and sampling are two roads to one number.
TEST(Straggling, DrawnStepsOfSlowDevicesAgreeWithTheFormula) {
  for (const std::int64_t replicas : {1, 4, 64, 500})
    for (const double lasting : {0.0, 0.2})
      for (const double throttled : {1.0, 1.5, 4.0}) {
        StragglingQuestion q = slow_question(0.2, lasting, throttled);
        q.exchange = 0.5, q.slow_link = 3;
        const DrawnMean drawn = drawn_mean_step(q, replicas);
        EXPECT_NEAR(drawn.mean, expected_step(q, replicas, 1), 5 * drawn.error + 1e-9)
            << replicas << " " << lasting << " " << throttled;
        EXPECT_LT(drawn.error, 0.02 * drawn.mean);
      }
}

// Slowness that is drawn anew averages out over a period; slowness that lasts does not.
TEST(Straggling, RareMeetingsDoNotHelpAgainstWhatLasts) {
  const double anew = expected_step(slow_question(0.3, 0, 1), 64, 1000),
               lasts = expected_step(slow_question(0, 0.3, 1), 64, 1000);
  EXPECT_NEAR(anew, std::exp(0.045), 0.04);
  EXPECT_NEAR(lasts, slowest_step(64, 0.3), 1e-9);
  // The exchange of a meeting, and what one link adds to it, is shared by the steps between.
  StragglingQuestion q = slow_question(0.1, 0, 1);
  const double without = expected_step(q, 8, 4);
  q.exchange = 2, q.slow_link = 3;
  EXPECT_NEAR(expected_step(q, 8, 4) - without, 1.5, 1e-12);
}

// Waiting less often never takes longer, and never less than not to wait.
RC_GTEST_PROP(Straggling, LongerPeriodsAndFewerReplicasWaitLess, ()) {
  const std::int64_t replicas = *rc::gen::inRange(2, 3000), period = *rc::gen::inRange(1, 200);
  const double sigma = *rc::gen::inRange(1, 100) / 100.0;
  const double step = step_of_period(replicas, sigma, period);
  RC_ASSERT(step_of_period(replicas, sigma, period + 1) < step);
  RC_ASSERT(step_of_period(replicas + 1, sigma, period) > step);
  RC_ASSERT(step > std::exp(sigma * sigma / 2));
}

TEST(Straggling, EqualReplicasAreAllOthersOld) {
  const ServerStaleness found = replay_staleness(6, 0, 600, 1);
  ASSERT_EQ(found.counts.size(), 6u);
  EXPECT_EQ(found.counts[5], 600);
  EXPECT_DOUBLE_EQ(found.mean, 5);
  EXPECT_EQ(replay_staleness(1, 0.5, 10, 1).counts, std::vector<std::int64_t>{10});
}

// B-GRD-05: P - 1 within 10 %.
RC_GTEST_PROP(Straggling, GradientsAreAsManyUpdatesOldAsThereAreOtherReplicas, ()) {
  const std::int64_t replicas = *rc::gen::inRange(2, 100);
  const double sigma = *rc::gen::inRange(0, 80) / 100.0;
  const ServerStaleness found =
      replay_staleness(replicas, sigma, 100 * replicas, *rc::gen::arbitrary<std::uint64_t>());
  const auto others = static_cast<double>(replicas - 1);
  RC_ASSERT(std::abs(found.mean - others) <= 0.1 * others);
  RC_ASSERT(std::accumulate(found.counts.begin(), found.counts.end(), std::int64_t{0}) ==
            100 * replicas);
}

}  // namespace
}  // namespace trainyard
