// The largest rate at which delayed updates of a scalar quadratic stay bounded.
#include "core/methods/precision/update_stability.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <utility>

#include "core/methods/catalogue.h"
#include "tests/support/flow_facts.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

// 2 sin(pi / (4 tau + 2)) / lambda
TEST(Stability, OfADelayIsThatOfTheFormula) {
  for (double curvature : {1.0, 0.3})
    for (int delay : {0, 1, 2, 5, 10, 20, 50}) {
      const UpdateRule rule{.forward_delay = static_cast<double>(delay)};
      const double bound = 2 * std::sin(std::numbers::pi / (4 * delay + 2)) / curvature;
      EXPECT_NEAR(largest_stable_rate(rule, {curvature, 0}, delay) / bound, 1, 1e-4) << delay;
    }
}

TEST(Stability, MomentumLowersIt) {
  for (const auto& [momentum, expected] : {std::pair{0.0, 0.1495}, {0.5, 0.0696}, {0.9, 0.0114}}) {
    const UpdateRule rule{.momentum = momentum, .forward_delay = 10};
    EXPECT_NEAR(largest_stable_rate(rule, {1, 0}, 10) / expected, 1, 0.005) << momentum;
  }
}

// Rescheduling divides the first rates by the delay and ends at the full one.
TEST(Stability, ReschedulingEndsAtTheRateItself) {
  const UpdateRule rule{.forward_delay = 5, .reschedule = 1000};
  EXPECT_NEAR(largest_stable_rate(rule, {1, 0}, 5), 0.284630, 1e-3);
}

// Rewinding the backward's weights restores five of the eight times that the discrepancy costs.
TEST(Stability, CorrectingTheDiscrepancyRaisesIt) {
  const Quadratic f{.curvature = 1, .discrepancy = 5};
  const double expected[][3] = {{10, 0.0176, 0.0971}, {20, 0.0088, 0.0489}, {40, 0.0044, 0.0246}};
  for (const auto& [delay, none, corrected] : testing::non_empty(expected)) {
    UpdateRule rule{.forward_delay = delay};
    const int updates = static_cast<int>(delay);
    const double without = largest_stable_rate(rule, f, updates);
    rule.correct_discrepancy = true;
    const double with = largest_stable_rate(rule, f, updates);
    EXPECT_NEAR(without, none, 0.0001) << delay;
    EXPECT_NEAR(with, corrected, 0.0001) << delay;
    EXPECT_GE(with / without, 4.5) << delay;
  }
}

double largest_stable_rate(const Method& method, int stages, int microbatches,
                           const Params& given = {}) {
  const StageFacts f = testing::flow_facts(method, stages, microbatches, 4, given)[0];
  return largest_stable_rate(
      update_rule_of(method.name, testing::params_of(method, given), f, 0, 0), {1, 0},
      f.forward_delay);
}

// Two waves that share weights, and double buffering, are one update late; a synchronous step is
// not.
TEST(Stability, OneUpdateOfDelayHalvesTheLargestRate) {
  const auto sync = [](const char* rule) { return Params{{"sync", std::string(rule)}}; };
  EXPECT_NEAR(largest_stable_rate(tick_tock(), 1, 2, sync("async")), 1.00, 0.01);
  EXPECT_NEAR(largest_stable_rate(tick_tock(), 1, 2, sync("accumulate")), 2.00, 0.01);
  EXPECT_NEAR(largest_stable_rate(pipedream_2bw(), 4, 4), 1.00, 0.01);
}

}  // namespace
}  // namespace trainyard
