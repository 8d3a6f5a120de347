// Any order that check() accepts lowers, at both grains, to a program that verify() accepts and the
// simulator completes.
#include <gtest/gtest.h>

#include "core/cost/roofline.h"
#include "core/estimate/estimate.h"
#include "core/methods/catalogue.h"
#include "core/program/order_edit.h"
#include "tests/support/non_empty.h"
#include "tests/support/orders.h"
#include "tests/support/scenarios.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

// A schedule with the shape's placement of stages.
testing::PipelineShape schedule_for(const ScheduleShape& shape) {
  const char* name = shape.placement == Placement::V ? "zb-v"
                     : shape.stages == shape.devices ? "1f1b"
                                                     : "interleaved";
  return {name, shape.devices, shape.stages / shape.devices, shape.microbatches};
}

// Adapts a shape to the conditions of the schedules that provide its placement.
void fit(ScheduleShape& shape) {
  if (shape.placement == Placement::V) shape.stages = 2 * shape.devices;
  if (shape.stages != shape.devices) shape.microbatches = shape.devices * 2;
}

TEST(AnyOrder, ThatHoldsRunsToItsEnd) {
  testing::Dice dice(3);
  int ran = 0;
  while (ran < 300) {
    ScheduleShape shape = testing::random_shape(dice);
    if (shape.devices == 1) continue;
    fit(shape);
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

// Takes every schedule's own order after a hundred attempts at a random move each.
TEST(AnyOrder, OfEveryScheduleRunsEdited) {
  testing::Dice dice(7);
  for (const Method& m : testing::non_empty(methods())) {
    if (!m.order) continue;
    int chunks = 0;
    Scenario s;
    for (const int v : {1, 2}) {
      s = testing::pipeline({std::string(m.name), 4, v, 8});
      if (!has_errors(check(s))) chunks = v;
      if (chunks > 0) break;
    }
    ASSERT_GT(chunks, 0) << m.name;
    const Workload w = prepare(s);
    const ScheduleShape shape = schedule_shape(w);
    Order edited = order(w, shape);
    int moved = 0;
    for (int tries = 0; tries < 100; ++tries) {
      const std::size_t lane = dice.below(edited.lanes.size());
      const std::size_t size = edited.lanes[lane].actions.size();
      if (size < 2) continue;
      const std::size_t from = dice.below(size), to = std::min(size - 1, from + dice.below(5));
      try {
        Order next = move_action(edited, shape, {lane, from}, {lane, to});
        Scenario with = s;
        with.plan.order = to_text(next);
        if (has_errors(check(with))) continue;  // of weights that are not written yet
        moved += next == edited ? 0 : 1;
        edited = std::move(next);
      } catch (const Error& e) {
        EXPECT_EQ(e.kind(), Error::Kind::InvalidInput) << m.name;
      }
    }
    EXPECT_GT(moved, 0) << m.name;
    s.plan.order = to_text(edited);
    for (const Grain grain : {Grain::Order, Grain::Op}) {
      const Program program = lower(s, {.grain = grain});
      ASSERT_TRUE(verify(program).empty()) << m.name << "\n" << s.plan.order;
      EXPECT_GT(makespan(simulate(program, testing::fixed_prices(program, 3ns, 7ns))), Duration{});
    }
    EXPECT_GT(estimate_step(prepare(s), *roofline_cost_model()).step, Duration{}) << m.name;
  }
}

// The closed form covers an edited order as it does a schedule's. What it omits, ports that
// messages of several stages share, matters most in orders as irregular as these.
TEST(AnyOrder, IsEstimatedAsItRuns) {
  const std::unique_ptr<CostModel> cost = roofline_cost_model();
  testing::Dice dice(4);
  for (int cases = 0; cases < 40; ++cases) {
    ScheduleShape shape = testing::random_shape(dice);
    if (shape.devices == 1) continue;
    fit(shape);
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
