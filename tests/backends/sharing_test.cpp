// Tests sharing by occupancy, and what the event loop does if nothing can go on.
#include <gtest/gtest.h>

#include "core/lowering/draft.h"
#include "tests/support/scenarios.h"
#include "tests/support/two_lanes.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

TaskPrices prices(const Program& p, Duration time, double fill) {
  TaskPrices made = testing::fixed_prices(p, time, time);
  made.fill.assign(p.tasks.size(), fill);
  return made;
}

// rate = min(1, 1 / sum of fills): two waves of 0.5 do not disturb each other, two that fill the
// device gain nothing.
TEST(Sharing, TwoWavesGainWhatOneLeavesUnfilled) {
  const Program p = testing::two_lanes(10, 0ns);
  EXPECT_EQ(makespan(simulate(p, prices(p, 1ms, 0.5))), 10ms);
  EXPECT_EQ(makespan(simulate(p, prices(p, 1ms, 1.0))), 20ms);
  EXPECT_EQ(makespan(simulate(p, prices(p, 1ms, 0.8))), 16ms);
}

TEST(Sharing, WorkIsNeitherLostNorDoneTwice) {
  for (Duration delay : {0ns, 1ns, 333'333ns, 999'999ns, 1'500'001ns}) {
    const Program p = testing::two_lanes(7, delay);
    const Duration end = makespan(simulate(p, prices(p, 1ms, 1.0)));
    EXPECT_GE(end, 14ms) << delay.count();
    EXPECT_LE(end, 14ms + 14ns) << delay.count();  // at most a nanosecond of rounding a change
  }
}

TEST(Sharing, ALaneStartsAfterItsDelay) {
  const Program p = testing::two_lanes(1, 5ms);
  const Timeline t = simulate(p, prices(p, 1ms, 1.0));
  EXPECT_EQ(t.spans[1].start, 5ms);
  EXPECT_EQ(t.spans[1].end, 6ms);
}

// Two concurrent transfers on one port take as long as one after the other.
TEST(Sharing, LinksAreSharedToo) {
  Draft draft;
  Task task;
  task.kind = TaskKind::Collective;
  task.stage = {0};
  const TaskId id = draft.task(task);
  for (const char* name : {"comm", "reduce"}) draft.add(draft.stream({0}, name, false), id, 0, {});
  const Program p = draft.finish();
  TaskPrices made = testing::fixed_prices(p, 0ns, 0ns);
  made.time[0] = 4ms;
  EXPECT_EQ(makespan(simulate(p, made)), 8ms);
}

TEST(Simulator, NamesWhatWaitsInADeadlock) {
  const Program p = testing::circle_of_waits();
  try {
    simulate(p, prices(p, 1ms, 1.0));
    FAIL() << "a circle of waits ran";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), testing::kCircleSaid);
  }
}

TEST(Simulator, StopsWhenAsked) {
  const auto ran = testing::run({"1f1b", 4, 1, 64}, 1ms, 1ms);
  std::stop_source stop;
  stop.request_stop();
  RunOptions options;
  options.stop = stop.get_token();
  EXPECT_THROW(simulate(ran.program, testing::fixed_prices(ran.program, 1ms, 1ms), options), Error);
}

TEST(Simulator, TwoRunsAreTheSameRun) {
  const auto a = testing::run({"interleaved", 4, 2, 16}, 1'234'567ns, 2'345'679ns);
  const auto b = testing::run({"interleaved", 4, 2, 16}, 1'234'567ns, 2'345'679ns);
  EXPECT_EQ(a.timeline.spans, b.timeline.spans);
}

// Work is refused if a sum of times could overflow, in whatever order instructions wait for each
// other.
TEST(EventLoop, RefusesMoreWorkThanAClockHolds) {
  const Program p = testing::two_lanes(3, 0ms);
  try {
    simulate(p, prices(p, 24h * 365 * 100, 1.0));
    FAIL() << "simulated";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "expected at most 285 years of work in one step, found more");
  }
}

}  // namespace
}  // namespace trainyard
