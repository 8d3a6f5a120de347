// Tests what switches add up: B-GRD-06, a sum in fp32 is independent of the order in which packets
// come only where that order is fixed or numbers have a fixed point.
#include "core/network/switch_sums.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace trainyard {
namespace {

std::vector<std::int32_t> drawn_arrival(std::size_t workers) {
  std::vector<std::int32_t> order(workers);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t left = workers; left > 1; --left)
    std::swap(order[left - 1], order[*rc::gen::inRange<std::size_t>(0, left)]);
  return order;
}

bool alike(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }

RC_GTEST_PROP(SwitchSum, IsIndependentOfArrivalInFixedOrderAndInFixedPoint, ()) {
  const auto workers = *rc::gen::inRange<std::size_t>(1, 70);
  const int spread = *rc::gen::inRange(1, 40), scale = *rc::gen::inRange(-80, 60);
  std::vector<float> parts(workers);
  float largest = 0;
  double exact = 0;
  for (float& part : parts) {
    part = std::ldexp(static_cast<float>(*rc::gen::inRange(-10'000'000, 10'000'000)),
                      scale - *rc::gen::inRange(0, spread));
    largest = std::max(largest, std::abs(part));
    exact += static_cast<double>(part);
  }
  const std::vector<std::int32_t> one = drawn_arrival(workers), other = drawn_arrival(workers);
  for (const SwitchAdder adder : {SwitchAdder::Ranks, SwitchAdder::FixedPoint})
    RC_ASSERT(
        alike(switch_sum(adder, parts, one, largest), switch_sum(adder, parts, other, largest)));
  // Each part is rounded to 2^-29 p of the largest at worst, and the sum to a float.
  const auto p = static_cast<double>(workers);
  const double bound = p * p * std::ldexp(static_cast<double>(largest), -28) +
                       std::abs(exact) * std::ldexp(1.0, -23);
  RC_ASSERT(std::abs(static_cast<double>(switch_sum(SwitchAdder::FixedPoint, parts, one, largest)) -
                     exact) <= bound);
}

TEST(SwitchSum, OfThreeInFp32DependsOnWhoComesFirst) {
  const float parts[] = {1e8F, 1, -1e8F};
  const std::int32_t in_turn[] = {0, 1, 2}, last[] = {0, 2, 1};
  EXPECT_EQ(switch_sum(SwitchAdder::Arrival, parts, in_turn, 1e8F), 0);
  EXPECT_EQ(switch_sum(SwitchAdder::Arrival, parts, last, 1e8F), 1);
  EXPECT_EQ(switch_sum(SwitchAdder::Ranks, parts, last, 1e8F), 0);
  EXPECT_EQ(switch_sum(SwitchAdder::FixedPoint, parts, last, 1e8F), 1);
  const float nothing[] = {0, 0, 0};
  EXPECT_EQ(switch_sum(SwitchAdder::FixedPoint, nothing, last, 0), 0);
}

TEST(SwitchSums, OfDrawnGradientsDifferByArrivalAlone) {
  double before = -1;
  for (const std::int64_t workers : {1, 2, 3, 16, 64}) {
    const std::vector<SwitchSums> rows = study_switch_sums(workers, 256, 1);
    ASSERT_EQ(rows.size(), kSwitchAdders.size());
    if (workers <= 2)
      EXPECT_EQ(rows[0].differing, 0) << workers;
    else
      EXPECT_GT(rows[0].differing, before) << workers;
    before = rows[0].differing;
    for (std::size_t a : {1u, 2u}) EXPECT_EQ(rows[a].differing, 0) << workers;
    for (const SwitchSums& row : rows) EXPECT_LT(row.error, 1e-6) << workers;
  }
  EXPECT_GT(before, 0.5);
}

}  // namespace
}  // namespace trainyard
