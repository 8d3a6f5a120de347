#include <gtest/gtest.h>

#include "core/methods/catalogue.h"
#include "tests/support/shapes.h"
#include "tests/support/timed_order.h"

namespace trainyard {
namespace {

using namespace testing;

// The figure of the paper: 0 and 1 go down, 2 and 3 come up.
TEST(Chimera, FillsTheGapsOfTheOtherPipeline) {
  EXPECT_EQ(to_text(chimera().order(both_ways(4, 4), {})),
            "d0/compute  0F0 0F1 3F2/1 3B2/1 3F3/1 3B3/1 0B0 0B1\n"
            "d1/compute  1F0 2F2/1 1F1 2F3/1 2B2/1 1B0 2B3/1 1B1\n"
            "d2/compute  1F2/1 2F0 1F3/1 2F1 2B0 1B2/1 2B1 1B3/1\n"
            "d3/compute  0F2/1 0F3/1 3F0 3B0 3F1 3B1 0B2/1 0B3/1\n");
}

TEST(Chimera, EveryShapeIsAValidOrder) {
  for (int p : {2, 4, 6, 8, 16, 40})
    for (int m : {1, 2, 3, 7, 8, 16, 33}) {
      const ScheduleShape shape = both_ways(p, m);
      const Order order = chimera().order(shape, {});
      EXPECT_TRUE(check(order, shape).empty()) << p << " " << m;
      EXPECT_TRUE(on_their_devices(order, shape)) << p << " " << m;
    }
}

// SCH-06: (p-2) B_full for m = p, so that the ratio to the whole is (p-2)/(2m+p-2) if B_full = F
// and (p-2)/(1.5m+p-2) if B_full = 2F. For further units of p microbatches that holds if B_full =
// F; else each of them adds (p-2)|B_full - F|: the sheet's second ratio is one of m = p.
TEST(Chimera, BubbleIsTheFormula) {
  const PhaseTimes same{Duration{1000}, Duration{600}, Duration{400}},
      long_forward{Duration{3000}, Duration{1000}, Duration{1000}};
  for (int p : {2, 4, 8, 16})
    for (int units : {1, 2, 3, 5}) {
      const int m = units * p;
      const ScheduleShape shape = both_ways(p, m);
      const Order order = chimera().order(shape, {});
      for (const PhaseTimes& t : {kEqual, kUneven, kLongInput, kShortWeight, same, long_forward}) {
        const Duration full = t.backward_input + t.backward_weight,
                       makespan = timed(order, shape, t).makespan,
                       bubble = makespan - m * t.cycle();
        EXPECT_EQ(bubble,
                  (p - 2) * (std::max(full, t.forward) +
                             (units - 1) * (std::max(full, t.forward) - std::min(full, t.forward))))
            << p << " " << m;
        // Ratios, without fractions.
        if (full == t.forward) {
          EXPECT_EQ(bubble * (2 * m + p - 2), makespan * (p - 2));
        }
        if (full == 2 * t.forward && units == 1) {
          EXPECT_EQ(bubble * (3 * m + 2 * (p - 2)), makespan * 2 * (p - 2));
        }
      }
    }
}

// Between p/2+1 microbatches, at the ends, and p, in the middle, are alive.
TEST(Chimera, MemoryIsMostInTheMiddle) {
  for (int p : {2, 4, 8, 16}) {
    const ScheduleShape shape = both_ways(p, 3 * p);
    const TimedOrder found = timed(chimera().order(shape, {}), shape, kEqual);
    EXPECT_EQ(found.least_live(), p / 2 + 1) << p;
    EXPECT_EQ(found.most_live(), p) << p;
    EXPECT_EQ(found.live.front(), p / 2 + 1) << p;
    EXPECT_EQ(found.live[static_cast<std::size_t>(p / 2)], p) << p;
  }
}

TEST(Chimera, NeedsAnEvenNumberOfStages) {
  Scenario scenario;
  scenario.plan.mesh.pp = 1;
  const Diagnostics found = chimera().check(scenario, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message,
            "chimera runs two pipelines against each other and needs an even number of stages, "
            "and pp is 1");
  EXPECT_EQ(found[0].fix, "pp=2");
  scenario.plan.mesh.pp = 2;
  EXPECT_TRUE(chimera().check(scenario, {}).empty());
}

}  // namespace
}  // namespace trainyard
