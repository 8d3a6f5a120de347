#include <gtest/gtest.h>

#include "core/methods/catalogue.h"
#include "tests/support/shapes.h"
#include "tests/support/timed_order.h"

namespace trainyard {
namespace {

using namespace testing;

Order with_pairs(const char* how, const ScheduleShape& shape) {
  return dualpipe().order(shape, with_defaults({{"pairs", std::string(how)}}, dualpipe().params));
}
Order in_turn(const ScheduleShape& shape) { return with_pairs("in-turn", shape); }

// Microbatches 0 and 1 go down, 2 and 3 come up.
TEST(DualPipe, StartsAtBothEnds) {
  EXPECT_EQ(to_text(in_turn(both_ways(2, 4))),
            "d0/compute  0F0 1F2/1 0F1 1B2/1 1F3/1 0B0 1B3/1 0I1 0W1\n"
            "d1/compute  0F2/1 1F0 0F3/1 1B0 1F1 0B2/1 1B1 0I3/1 0W3/1\n");
}

// By itself where that is faster than in turn: where layers wait long enough for messages.
TEST(DualPipe, AForwardRunsTogetherWithTheBackwardOfTheOtherFlow) {
  ScheduleShape shape = both_ways(2, 4);
  const std::string pairs =
      "d0/compute  0F0 1F2/1 0F1 1B2/1 1F3/1 &0B0 1B3/1 0I1 0W1\n"
      "d1/compute  0F2/1 1F0 0F3/1 1B0 1F1 &0B2/1 1B1 0I3/1 0W3/1\n";
  EXPECT_EQ(to_text(with_pairs("together", shape)), pairs);
  EXPECT_EQ(with_pairs("auto", shape), in_turn(shape));
  shape.times = kEqual;
  shape.times.forward_waits = shape.times.backward_waits = kEqual.forward / 2;
  EXPECT_EQ(to_text(with_pairs("auto", shape)), pairs);
  shape = both_ways(8, 16), shape.times = kEqual;
  shape.times.forward_waits = shape.times.backward_waits = kEqual.forward / 100;
  EXPECT_EQ(with_pairs("auto", shape), in_turn(shape));
  EXPECT_FALSE(has_pairs(in_turn(shape)));
}

TEST(DualPipe, EveryShapeIsAValidOrder) {
  for (int p : {2, 4, 6, 8, 16, 40})
    for (int m : {1, 2, 3, 7, 8, 16, 33})
      for (const char* pairs : {"in-turn", "together"}) {
        const ScheduleShape shape = both_ways(p, m);
        const Order order = with_pairs(pairs, shape);
        EXPECT_TRUE(check(order, shape).empty()) << p << " " << m;
        EXPECT_TRUE(on_their_devices(order, shape)) << p << " " << m;
      }
}

// SCH-06: (p/2-1)(F&B + B_full - 3W), and p + 1 alive. The sheet's F&B is a forward and a backward
// that end together; then it holds if F=B=W and bounds the rest of B >= F >= W. Here they run one
// after the other and hand their results on earlier: (p/2-1)F if F=B=W, and never more than the
// formula with F&B = F + B_full.
TEST(DualPipe, BubbleAndMemoryKeepTheFormulas) {
  for (int p : {2, 4, 8, 16})
    for (int m : {2 * p, 2 * p + 6, 4 * p}) {
      const ScheduleShape shape = both_ways(p, m);
      const Order order = in_turn(shape);
      const auto formula = [&](const PhaseTimes& t) {
        const Duration full = t.backward_input + t.backward_weight;
        return (p / 2 - 1) * (t.forward + full + full - 3 * t.backward_weight);
      };
      EXPECT_EQ(timed(order, shape, kEqual, true).longest_bubble(), formula(kEqual)) << p;
      EXPECT_EQ(timed(order, shape, kEqual).longest_bubble(), (p / 2 - 1) * kEqual.forward) << p;
      for (const PhaseTimes& t : {kUneven, kLongInput, kShortWeight}) {
        EXPECT_LE(timed(order, shape, t, true).longest_bubble(), formula(t)) << p << " " << m;
        EXPECT_LE(timed(order, shape, t).longest_bubble(), formula(t)) << p << " " << m;
      }
      EXPECT_EQ(timed(order, shape, kEqual).live,
                std::vector<int>(static_cast<std::size_t>(p), p + 1));
    }
}

TEST(DualPipe, NeedsAnEvenNumberOfStages) {
  Scenario scenario;
  scenario.plan.mesh.pp = 5;
  Diagnostics found = dualpipe().check(scenario, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message,
            "dualpipe runs two pipelines against each other and needs an even number of stages, "
            "and pp is 5");
  EXPECT_EQ(found[0].fix, "pp=4");
  scenario.plan.mesh.pp = 4;
  EXPECT_TRUE(dualpipe().check(scenario, {}).empty());
  scenario.plan.virtual_stages = 2;
  found = dualpipe().check(scenario, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].fix, "virtual-stages=1");
}

}  // namespace
}  // namespace trainyard
