#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "app/workspace/schedules/schedule_study.h"
#include "core/methods/catalogue.h"
#include "planners/schedules/pipeline.h"
#include "tests/planners/problems.h"

namespace trainyard {
namespace {

TEST(TimeOrder, WaitsForLaneInputAndTransfer) {
  ScheduleProblem problem = equal_stages(2, 1, 1, {10, 20, 5, 3});
  problem.stages[1].forward = Duration{40};
  const OrderTiming t =
      time_order(parse_order("d0/compute  0F0 0I0 0W0\nd1/compute  1F0 1I0 1W0\n"), problem);
  EXPECT_EQ(t.makespan, Duration{10 + 3 + 40 + 20 + 3 + 20 + 5});
  EXPECT_EQ(t.spans[0], t.makespan);
  EXPECT_EQ(t.spans[1], Duration{40 + 20 + 5});
  EXPECT_EQ(t.longest_span, t.makespan);
}

TEST(TimeOrder, AWholeBackwardHandsItsGradientOnAtItsEnd) {
  const ScheduleProblem problem = equal_stages(2, 1, 1, {10, 20, 5, 0});
  EXPECT_EQ(time_order(parse_order("d0/compute  0F0 0B0\nd1/compute  1F0 1B0\n"), problem).makespan,
            Duration{10 + 10 + 25 + 25});
  EXPECT_EQ(time_order(parse_order("d0/compute  0F0 0I0 0W0\nd1/compute  1F0 1I0 1W0\n"), problem)
                .makespan,
            Duration{10 + 10 + 20 + 20 + 5});
}

TEST(TimeOrder, AVTurnsWithoutTransfer) {
  const ScheduleProblem problem = equal_stages(2, 2, 1, {10, 10, 10, 3});
  const OrderTiming t = time_order(
      parse_order("d0/compute  0F0 3F0 3I0 3W0 0I0 0W0\nd1/compute  1F0 2F0 2I0 2W0 1I0 1W0\n"),
      problem);
  // 0F, over, 1F 2F, over, 3F 3I, over, 2I 2W 1I, over, 0I 0W: stages 1 and 2 share device 1.
  EXPECT_EQ(t.makespan, Duration{10 + 3 + 20 + 3 + 20 + 3 + 30 + 3 + 20});
}

TEST(TimeOrder, HoldsFromTheForwardToTheGradientThatFrees) {
  ScheduleProblem problem = equal_stages(1, 1, 2, {10, 10, 10, 0});
  problem.stages[0].until_input = 5_B, problem.stages[0].until_weight = 2_B;
  const auto peak = [&](const char* order) {
    return time_order(parse_order(order), problem).peaks.at(0);
  };
  EXPECT_EQ(peak("d0/compute  0F0 0F1 0I0 0I1 0W0 0W1\n"), 14_B);
  EXPECT_EQ(peak("d0/compute  0F0 0I0 0F1 0W0 0I1 0W1\n"), 9_B);  // 2 left of 0 beside 7 of 1
  EXPECT_EQ(peak("d0/compute  0F0 0I0 0W0 0F1 0I1 0W1\n"), 7_B);
  EXPECT_EQ(peak("d0/compute  0F0 0B0 0F1 0B1\n"), 7_B);
}

TEST(TimeOrder, TakesDelaysPrecedencesAndSeveralLanes) {
  const ScheduleProblem problem = equal_stages(1, 1, 2, {10, 10, 0, 0});
  const OrderTiming t =
      time_order(parse_order("d0/a  0F0 0B0\nd0/b +5ns  0F1 0B1\n0B0 < 0B1\n"), problem);
  EXPECT_EQ(t.makespan, Duration{30});  // 0B1 waits until 20, not until 15
  EXPECT_EQ(t.peaks[0], 2_B);
}

TEST(TimeOrder, RefusesLanesThatWaitForEachOther) {
  EXPECT_THROW(
      time_order(parse_order("d0/compute  0B0 0F0\n"), equal_stages(1, 1, 1, {1, 1, 1, 0})), Error);
}

// The solver's clock and this one agree to the nanosecond on any lanes, however long a message
// takes; and microbatches that are renamed into ascending order make nothing later.
TEST(TimeOrder, IsWhatTheSolversClockSaysOfAnyLanes) {
  EXPECT_TRUE(rc::check([] {
    ScheduleProblem problem = random_problem(*rc::gen::arbitrary<std::uint64_t>(), 4, 5);
    problem.limits.clear();
    problem.transfer = Duration{*rc::gen::inRange(0, 60)};
    const Order any = random_order(problem, *rc::gen::arbitrary<std::uint64_t>());
    RC_ASSERT(check(any, shape_of(problem)).empty());
    const Pipeline pipeline = make_pipeline(problem);
    const std::optional<Lanes> lanes = lanes_of(pipeline, any);
    RC_ASSERT(lanes.has_value());
    const OrderTiming timing = time_order(order_of(pipeline, *lanes), problem);
    LaneClock clock(pipeline);
    const std::vector<Ticks>* ends = clock.time(*lanes);
    RC_ASSERT(ends != nullptr);
    for (std::size_t d = 0; d < ends->size(); ++d)
      RC_ASSERT(timing.starts[d].front() + timing.spans[d] == Duration{(*ends)[d]});
    RC_ASSERT(timing.makespan <= time_order(any, problem).makespan);
  }));
}

TEST(TimeOrder, IsWhatTheSimulatorSaysOfAnyOrder) {
  EXPECT_TRUE(rc::check([] {
    ScheduleProblem problem = random_problem(*rc::gen::arbitrary<std::uint64_t>(), 4, 5);
    problem.transfer = Duration{};
    for (StageCost& c : problem.stages)
      c = problem.stages.front(), c.until_weight = 1_B, c.until_input = 0_B;
    const Order order = random_order(problem, *rc::gen::arbitrary<std::uint64_t>());
    const auto chunks = static_cast<int>(problem.stages.size()) / problem.devices;
    const StageCost& c = problem.stages.front();
    const ScheduleStudy studied =
        study({.name = problem.placement == Placement::V ? "zb-v" : "gpipe",
               .devices = problem.devices,
               .microbatches = problem.microbatches,
               .virtual_stages = chunks,
               .forward = c.forward,
               .backward_input = c.backward_input,
               .backward_weight = c.backward_weight},
              order);
    const OrderTiming timing = time_order(order, problem);
    Duration end{};
    for (const std::vector<Span>& lane : studied.spans)
      if (!lane.empty()) end = std::max(end, lane.back().end);
    RC_ASSERT(timing.makespan == end);
    for (std::size_t d = 0; d < timing.peaks.size(); ++d)
      RC_ASSERT(static_cast<double>(timing.peaks[d].value) / chunks == studied.devices[d].live);
  }));
}

}  // namespace
}  // namespace trainyard
