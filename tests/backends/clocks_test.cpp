// The recurrence follows an order as the simulator runs it: both clocks agree to the nanosecond on
// every action of any order whose lanes share nothing.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "backends/simulator/simulator.h"
#include "core/methods/orders/recurrence.h"
#include "tests/support/order_programs.h"
#include "tests/support/orders.h"

namespace trainyard {
namespace {

// Divides the work of every device over two lanes, the second of which may begin later.
Order with_two_lanes(const Order& order, testing::Dice& dice) {
  Order divided;
  for (const Lane& lane : order.lanes) {
    Lane one{lane.device, "one"}, other{lane.device, "other"};
    other.delay = Duration{static_cast<int>(dice.below(40))};
    for (const Action& a : lane.actions) (dice.below(2) == 0 ? one : other).actions.push_back(a);
    for (const Lane& half : {one, other})
      if (!half.actions.empty()) divided.lanes.push_back(half);
  }
  return divided;
}

TEST(Clocks, TheRecurrenceIsTheSimulatorOnAnyOrder) {
  EXPECT_TRUE(rc::check([] {
    testing::Dice dice(*rc::gen::arbitrary<std::uint64_t>());
    const ScheduleShape shape = testing::random_shape(dice);
    Order order = testing::random_order(shape, dice);
    const bool two = dice.below(2) == 0;
    if (two)
      order = with_two_lanes(order, dice);
    else
      testing::pair_some(order, shape, dice);
    RC_ASSERT(check(order, shape).empty());
    const auto some = [&] { return Duration{static_cast<int>(dice.below(30))}; };
    PipelineTimes times;
    for (int s = 0; s < shape.stages; ++s)
      for (auto* list :
           {&times.forward, &times.backward, &times.backward_input, &times.backward_weight})
        list->push_back({.compute = some()});
    times.fill = two ? 0.5 : 1.0;
    LaneStarts starts;
    const PipelineEstimate followed = follow(order, shape, times, {.starts = &starts});

    const Program program = testing::follow(order, shape);
    TaskPrices prices;
    for (const Task& task : program.tasks) {
      const std::size_t s = task.stage.value;
      prices.time.push_back(task.phase == Phase::Forward          ? times.forward[s].compute
                            : task.phase == Phase::Backward       ? times.backward[s].compute
                            : task.phase == Phase::BackwardInput  ? times.backward_input[s].compute
                            : task.phase == Phase::BackwardWeight ? times.backward_weight[s].compute
                                                                  : Duration{});
      prices.fill.push_back(times.fill), prices.resource.push_back(0);
    }
    const Timeline timeline = simulate(program, prices);
    RC_ASSERT(followed.span == makespan(timeline));
    for (std::size_t l = 0; l < order.lanes.size(); ++l)
      for (std::size_t i = 0; i < starts[l].size(); ++i)
        RC_ASSERT(starts[l][i] == timeline.spans[program.streams[l].first + i].start);
  }));
}

}  // namespace
}  // namespace trainyard
