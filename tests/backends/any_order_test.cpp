// Any order that check() accepts lowers, at both grains, to a program that verify() accepts and
// that the simulator works through.
#include <gtest/gtest.h>

#include "core/cost/roofline.h"
#include "core/estimate/estimate.h"
#include "tests/support/orders.h"
#include "tests/support/scenarios.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

// A schedule whose stages live where the shape has them.
testing::PipelineShape schedule_for(const ScheduleShape& shape) {
  const char* name = shape.stages == shape.devices ? "1f1b" : "interleaved";
  return {name, shape.devices, shape.stages / shape.devices, shape.microbatches};
}

TEST(AnyOrder, ThatHoldsRunsToItsEnd) {
  testing::Dice dice(3);
  int ran = 0;
  while (ran < 300) {
    ScheduleShape shape = testing::random_shape(dice);
    if (shape.devices == 1) continue;
    shape.placement = Placement::Cyclic;
    if (shape.stages != shape.devices) shape.microbatches = shape.devices * 2;
    const Order any = testing::random_order(shape, dice);
    ASSERT_TRUE(check(any, shape).empty());
    Scenario s = testing::pipeline(schedule_for(shape));
    s.plan.order = to_text(any);
    for (const Grain grain : {Grain::Order, Grain::Op}) {
      const Program program = lower(s, {.grain = grain});
      ASSERT_TRUE(verify(program).empty()) << s.plan.order;
      const Timeline timeline = simulate(program, testing::fixed_prices(program, 3ns, 7ns));
      ASSERT_EQ(timeline.spans.size(), program.instructions.size());
      EXPECT_GE(makespan(timeline), Duration{3} * shape.microbatches) << s.plan.order;
    }
    ++ran;
  }
}

// The closed form follows an edited order as it follows a schedule's. What it leaves out, ports
// that messages of several stages share, weighs most in orders as wild as these.
TEST(AnyOrder, IsEstimatedAsItRuns) {
  const std::unique_ptr<CostModel> cost = roofline_cost_model();
  testing::Dice dice(4);
  for (int cases = 0; cases < 40; ++cases) {
    ScheduleShape shape = testing::random_shape(dice);
    if (shape.devices == 1) continue;
    shape.placement = Placement::Cyclic;
    if (shape.stages != shape.devices) shape.microbatches = shape.devices * 2;
    Scenario s = testing::pipeline(schedule_for(shape));
    s.model = testing::layers_model(shape.stages, 4096);
    s.plan.batch.sequence = 1;
    s.plan.order = to_text(testing::random_order(shape, dice));
    const Workload w = prepare(s);
    const Program program = lower(w);
    const TaskPrices prices = price(program, w.scenario.plan.mesh, w.scenario.cluster, *cost);
    const double ran = to_seconds(makespan(simulate(program, prices)));
    EXPECT_NEAR(to_seconds(estimate_step(w, *cost).step) / ran, 1.0, 0.10) << s.plan.order;
  }
}

}  // namespace
}  // namespace trainyard
