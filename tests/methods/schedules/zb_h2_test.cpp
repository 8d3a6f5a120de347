#include <gtest/gtest.h>

#include "core/methods/catalogue.h"
#include "tests/support/shapes.h"
#include "tests/support/timed_order.h"

namespace trainyard {
namespace {

using namespace testing;

TEST(ZbH2, WarmsUpTwiceAsLong) {
  EXPECT_EQ(to_text(zb_h2().order(plain_shape(2, 4), {})),
            "d0/compute  0F0 0F1 0F2 0I0 0W0 0F3 0I1 0W1 0I2 0W2 0I3 0W3\n"
            "d1/compute  1F0 1I0 1F1 1I1 1F2 1I2 1W0 1F3 1I3 1W1 1W2 1W3\n");
}

TEST(ZbH2, EveryShapeIsAValidOrder) {
  for (int p : {1, 2, 3, 4, 5, 7, 8, 11, 16, 40})
    for (int m : {1, 2, 3, 7, 8, 16, 33}) {
      const ScheduleShape shape = plain_shape(p, m);
      EXPECT_TRUE(check(zb_h2().order(shape, {}), shape).empty()) << p << " " << m;
    }
}

// SCH-06: (p-1)(F+B-2W) within the span of a device, and 2p-1 alive on every stage.
TEST(ZbH2, SpanAndMemoryAreTheFormulas) {
  for (const PhaseTimes& t : {kEqual, kUneven, kLongInput, kShortWeight})
    for (int p : {2, 4, 8, 16})
      for (int m : {2 * p - 1, 4 * p}) {
        const ScheduleShape shape = plain_shape(p, m);
        const TimedOrder found = timed(zb_h2().order(shape, {}), shape, t);
        EXPECT_EQ(found.longest_bubble(),
                  (p - 1) * (t.forward + t.backward_input - 2 * t.backward_weight))
            << p << " " << m;
        EXPECT_EQ(found.shortest_bubble(), Duration{});
        EXPECT_EQ(found.live, std::vector<int>(static_cast<std::size_t>(p), 2 * p - 1));
      }
}

// SCH-06, trap i: the schedule is a parallelogram. Up to a barrier of all devices it is (p-1)F
// above the ideal even where no device ever waits, so that without updates stage by stage its gain
// over ZB-H1 is (p-1)(B-W), nothing at all if B = W.
TEST(ZbH2, ABarrierBeforeTheUpdateTakesTheGainBack) {
  for (const PhaseTimes& t : {kEqual, kUneven, kLongInput})
    for (int p : {2, 4, 8, 16}) {
      const int m = 4 * p;
      const ScheduleShape shape = plain_shape(p, m);
      const Duration h2 = timed(zb_h2().order(shape, {}), shape, t).makespan,
                     h1 = timed(zb_h1().order(shape, {}), shape, t).makespan;
      EXPECT_EQ(h2 - m * t.cycle(), (p - 1) * t.forward) << p;
      EXPECT_EQ(h1 - h2, (p - 1) * (t.backward_input - t.backward_weight)) << p;
    }
  // If input gradients take longer than two weight gradients, they wait for each other instead.
  const ScheduleShape shape = plain_shape(4, 16);
  EXPECT_EQ(timed(zb_h2().order(shape, {}), shape, kShortWeight).makespan,
            16 * kShortWeight.cycle() + 3 * (kShortWeight.forward + kShortWeight.backward_input -
                                             2 * kShortWeight.backward_weight));
}

TEST(ZbH2, HasOneStageADevice) {
  Scenario scenario;
  EXPECT_TRUE(zb_h2().check(scenario, {}).empty());
  scenario.plan.virtual_stages = 3;
  const Diagnostics found = zb_h2().check(scenario, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "zb-h2 has one stage per device, and virtual-stages is 3");
  EXPECT_EQ(found[0].fix, "virtual-stages=1");
}

}  // namespace
}  // namespace trainyard
