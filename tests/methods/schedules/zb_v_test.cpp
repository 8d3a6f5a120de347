#include <gtest/gtest.h>

#include "core/methods/catalogue.h"
#include "tests/support/shapes.h"
#include "tests/support/timed_order.h"

namespace trainyard {
namespace {

using namespace testing;

TEST(ZbV, GoesDownAndBackUp) {
  EXPECT_EQ(
      to_text(zb_v().order(v_shape(2, 3), {})),
      "d0/compute  0F0 0F1 0F2 3F0 3I0 3W0 3F1 3I1 3W1 0I0 0W0 3F2 3I2 3W2 0I1 0W1 0I2 0W2\n"
      "d1/compute  1F0 2F0 1F1 2F1 2I0 2W0 1F2 1I0 1W0 2F2 2I1 2W1 1I1 2I2 1I2 1W1 2W2 1W2\n");
}

TEST(ZbV, EveryShapeIsAValidOrder) {
  for (int p : {1, 2, 3, 4, 5, 7, 8, 11, 16, 40})
    for (int m : {1, 2, 3, 7, 8, 16, 33}) {
      const ScheduleShape shape = v_shape(p, m);
      const Order order = zb_v().order(shape, {});
      EXPECT_TRUE(check(order, shape).empty()) << p << " " << m;
      EXPECT_TRUE(on_their_devices(order, shape)) << p << " " << m;
    }
}

// SCH-06: no bubble if F=B=W, else (p-1)(B-W) within the span of a device, with the memory of
// 1F1B's first stage on each: p microbatches, 2p chunks. Like ZB-H2 a parallelogram, of chunks.
TEST(ZbV, SpanAndMemoryAreTheFormulas) {
  for (const PhaseTimes& t : {kEqual, kUneven, kLongInput, kShortWeight})
    for (int p : {2, 4, 8, 16})
      for (int m : {2 * p, 2 * p + 3, 4 * p}) {
        const ScheduleShape shape = v_shape(p, m);
        const TimedOrder found = timed(zb_v().order(shape, {}), shape, chunk(t));
        const Duration gap = t.backward_input - t.backward_weight;
        EXPECT_EQ(found.longest_bubble(), (p - 1) * gap) << p << " " << m;
        EXPECT_EQ(found.makespan - m * t.cycle(), (p - 1) * std::max(t.backward_input / 2, gap));
        EXPECT_EQ(found.live, std::vector<int>(static_cast<std::size_t>(p), 2 * p));
      }
}

TEST(ZbV, HasTwoStagesADevice) {
  Scenario scenario;
  const Diagnostics found = zb_v().check(scenario, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "zb-v has 2 stages per device, and virtual-stages is 1");
  EXPECT_EQ(found[0].fix, "virtual-stages=2");
  scenario.plan.virtual_stages = 2;
  EXPECT_TRUE(zb_v().check(scenario, {}).empty());
}

}  // namespace
}  // namespace trainyard
