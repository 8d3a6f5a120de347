#include <gtest/gtest.h>

#include "core/methods/catalogue.h"
#include "tests/support/shapes.h"
#include "tests/support/timed_order.h"

namespace trainyard {
namespace {

using namespace testing;

TEST(VMin, EveryShapeIsAValidOrder) {
  for (int p : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 16, 40})
    for (int m : {1, 2, 3, 7, 16, 33}) {
      const ScheduleShape shape = v_shape(p, m);
      const Order order = v_min().order(shape, {});
      EXPECT_TRUE(check(order, shape).empty()) << p << " " << m;
      EXPECT_TRUE(on_their_devices(order, shape)) << p << " " << m;
    }
}

// SCH-06: a third of 1F1B's memory: ceil((p+2)/3) microbatches of p, twice that in chunks.
TEST(VMin, KeepsAThirdOfTheActivations) {
  for (int p : {2, 3, 4, 5, 6, 8, 9, 15, 16, 30}) {
    const ScheduleShape shape = v_shape(p, 4 * p);
    EXPECT_EQ(timed(v_min().order(shape, {}), shape, chunk(kEqual)).most_live(),
              2 * ((p + 2 + 2) / 3))
        << p;
  }
}

// SCH-06: two thirds of 1F1B's bubble, (p-1)(F+B+W) 2/3, if F=B=W. In units of F that is 2(p-1);
// exactly it is 2p - 5/2, and 2p - 3/2 where the turn at the loss is longer.
TEST(VMin, BubbleIsTwoThirdsOf1F1Bs) {
  for (int p : {2, 3, 4, 6, 8, 16})
    for (int m : {p, 2 * p, 8 * p}) {
      const ScheduleShape shape = v_shape(p, m);
      const Duration bubble =
          timed(v_min().order(shape, {}), shape, chunk(kEqual)).makespan - m * kEqual.cycle();
      EXPECT_EQ(bubble, (4 * p - (p % 3 == 0 ? 3 : 5)) * kEqual.forward / 2) << p << " " << m;
    }
}

// The sheet's O(n): where F, B and W differ, the bubble grows with every microbatch.
TEST(VMin, UnequalPassesWaitForEachOtherInEveryMicrobatch) {
  for (const PhaseTimes& t : {kUneven, kLongInput, kShortWeight}) {
    const auto bubble = [&](int m) {
      const ScheduleShape shape = v_shape(4, m);
      return timed(v_min().order(shape, {}), shape, chunk(t)).makespan - m * t.cycle();
    };
    const Duration more = bubble(32) - bubble(16);
    EXPECT_GT(more, Duration{});
    EXPECT_EQ(bubble(48) - bubble(32), more);
  }
}

TEST(VMin, HasTwoStagesADevice) {
  Scenario scenario;
  const Diagnostics found = v_min().check(scenario, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "v-min has 2 stages per device, and virtual-stages is 1");
  EXPECT_EQ(found[0].fix, "virtual-stages=2");
}

}  // namespace
}  // namespace trainyard
