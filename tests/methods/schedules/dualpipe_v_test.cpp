#include <gtest/gtest.h>

#include "core/methods/catalogue.h"
#include "tests/support/shapes.h"
#include "tests/support/timed_order.h"

namespace trainyard {
namespace {

using namespace testing;

Order v_with_pairs(const char* how, const ScheduleShape& shape) {
  return dualpipe_v().order(shape,
                            with_defaults({{"pairs", std::string(how)}}, dualpipe_v().params));
}
Order v_in_turn(const ScheduleShape& shape) { return v_with_pairs("in-turn", shape); }

TEST(DualPipeV, LetsTheTwoLegsPassEachOther) {
  EXPECT_EQ(
      to_text(v_in_turn(v_shape(2, 4))),
      "d0/compute  0F0 0F1 0F2 3F0 3I0 3W0 3F1 0F3 3B1 3F2 0B0 3B2 3F3 0B1 3B3 0I2 0W2 0I3 "
      "0W3\n"
      "d1/compute  1F0 2F0 1F1 2F1 1F2 2B0 2F2 1B0 1F3 2B1 2F3 1B1 2B2 1B2 2I3 1I3 2W3 1W3\n");
}

TEST(DualPipeV, TheLegsRunTogetherWhereTheyMeet) {
  EXPECT_EQ(
      to_text(v_with_pairs("together", v_shape(2, 4))),
      "d0/compute  0F0 0F1 0F2 3F0 3I0 3W0 3F1 0F3 &3B1 3F2 &0B0 3B2 3F3 &0B1 3B3 0I2 0W2 0I3 "
      "0W3\n"
      "d1/compute  1F0 2F0 1F1 2F1 1F2 2B0 2F2 &1B0 1F3 &2B1 2F3 &1B1 2B2 1B2 2I3 1I3 2W3 1W3\n");
}

TEST(DualPipeV, EveryShapeIsAValidOrder) {
  for (int p : {1, 2, 3, 4, 5, 7, 8, 11, 16, 40})
    for (int m : {1, 2, 3, 7, 8, 16, 33})
      for (const char* pairs : {"in-turn", "together"}) {
        const ScheduleShape shape = v_shape(p, m);
        const Order order = v_with_pairs(pairs, shape);
        EXPECT_TRUE(check(order, shape).empty()) << p << " " << m;
        EXPECT_TRUE(on_their_devices(order, shape)) << p << " " << m;
      }
}

// SCH-06: (s/2-1)(F&B + B_full - 3W) for s = 2p stages, in times of a stage, and s + 1 chunks
// alive. The sheet's F&B is a forward and a backward that end together; then it holds if F=B=W and
// bounds the rest of B >= F >= W. Here they run one after the other and hand their results on
// earlier: (s/2-1)F if F=B=W, and never more than the formula with F&B = F + B_full.
TEST(DualPipeV, BubbleAndMemoryKeepTheFormulas) {
  for (int p : {1, 2, 4, 8, 16})
    for (int m : {2 * p, 2 * p + 3, 4 * p}) {
      const ScheduleShape shape = v_shape(p, m);
      const Order order = v_in_turn(shape);
      const auto formula = [&](const PhaseTimes& t) {
        const Duration full = t.backward_input + t.backward_weight;
        return (p - 1) * (t.forward + full + full - 3 * t.backward_weight);
      };
      const PhaseTimes one = chunk(kEqual);
      EXPECT_EQ(timed(order, shape, one, true).longest_bubble(), formula(one)) << p << " " << m;
      EXPECT_EQ(timed(order, shape, one).longest_bubble(), (p - 1) * one.forward) << p << " " << m;
      for (const PhaseTimes& whole : {kUneven, kLongInput, kShortWeight}) {
        const PhaseTimes t = chunk(whole);
        EXPECT_LE(timed(order, shape, t, true).longest_bubble(), formula(t)) << p << " " << m;
        EXPECT_LE(timed(order, shape, t).longest_bubble(), formula(t)) << p << " " << m;
      }
      EXPECT_EQ(timed(order, shape, one).live,
                std::vector<int>(static_cast<std::size_t>(p), 2 * p + 1));
    }
}

TEST(DualPipeV, HasTwoStagesADevice) {
  Scenario scenario;
  const Diagnostics found = dualpipe_v().check(scenario, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "dualpipe-v has 2 stages per device, and virtual-stages is 1");
  EXPECT_EQ(found[0].fix, "virtual-stages=2");
}

}  // namespace
}  // namespace trainyard
