#include <gtest/gtest.h>

#include "core/methods/catalogue.h"
#include "tests/support/shapes.h"
#include "tests/support/timed_order.h"

namespace trainyard {
namespace {

using namespace testing;

TEST(VHalf, EveryShapeIsAValidOrder) {
  for (const PhaseTimes& t : {PhaseTimes{}, kUneven, PhaseTimes{{}, {}, {}, {}},
                              PhaseTimes{Duration{7}, Duration{1}, Duration{30}, Duration{4}}})
    for (int p : {1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 40})
      for (int m : {1, 2, 3, 7, 16, 33}) {
        const ScheduleShape shape = v_shape(p, m, t);
        const Order order = v_half().order(shape, {});
        EXPECT_TRUE(check(order, shape).empty()) << p << " " << m;
        EXPECT_TRUE(on_their_devices(order, shape)) << p << " " << m;
      }
}

// SCH-06: half of 1F1B's memory. In chunks, of which 1F1B's first stage would hold 2p: p + 2 for an
// even number of devices, p + 1 for an odd one, whatever the times.
TEST(VHalf, KeepsHalfOfTheActivations) {
  for (const PhaseTimes& t : {kEqual, kUneven, kLongInput, kShortWeight})
    for (int p : {2, 3, 4, 5, 8, 15, 16}) {
      const ScheduleShape shape = v_shape(p, 4 * p, chunk(t));
      const TimedOrder found = timed(v_half().order(shape, {}), shape, chunk(t));
      EXPECT_EQ(found.most_live(), p % 2 == 0 ? p + 2 : p + 1) << p;
    }
}

// SCH-06: half of 1F1B's bubble, (p-1)(F+B+W)/2. That holds if F=B=W; where they differ it is at
// most 3/2 (p-1)(F+B-W), which is the same there. It does not grow with the microbatches.
TEST(VHalf, BubbleIsHalfOf1F1Bs) {
  for (int p : {2, 4, 8, 16})
    for (int m : {p, 2 * p, 4 * p}) {
      const auto bubble = [&](const PhaseTimes& t, int microbatches) {
        const ScheduleShape shape = v_shape(p, microbatches, chunk(t));
        return timed(v_half().order(shape, {}), shape, chunk(t)).makespan -
               microbatches * t.cycle();
      };
      EXPECT_EQ(bubble(kEqual, m), (p - 1) * kEqual.cycle() / 2) << p << " " << m;
      for (const PhaseTimes& t : {kUneven, kLongInput, kShortWeight}) {
        EXPECT_LE(bubble(t, m),
                  3 * (p - 1) * (t.forward + t.backward_input - t.backward_weight) / 2)
            << p << " " << m;
        EXPECT_LT(bubble(t, m), (p - 1) * t.cycle() + t.forward) << p << " " << m;
      }
      EXPECT_EQ(bubble(kUneven, 4 * p), bubble(kUneven, 8 * p)) << p;
    }
}

TEST(VHalf, HasTwoStagesADevice) {
  Scenario scenario;
  const Diagnostics found = v_half().check(scenario, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "v-half has 2 stages per device, and virtual-stages is 1");
  EXPECT_EQ(found[0].fix, "virtual-stages=2");
}

}  // namespace
}  // namespace trainyard
