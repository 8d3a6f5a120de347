// Tests the tables of flush pipelines (SCH-04) and the relations between their rows.
#include <gtest/gtest.h>

#include "core/methods/catalogue.h"
#include "tests/support/non_empty.h"
#include "tests/support/shapes.h"
#include "tests/support/timed_order.h"

namespace trainyard {
namespace {

using namespace testing;

constexpr PhaseTimes kRatios[] = {kEqual, kUneven, kLongInput, kShortWeight};

// (p-1)(F+B+W) of both, per device and of the whole: m + p - 1 rounds. 1F1B is not quicker; it
// keeps min(m, p-s) microbatches where GPipe keeps m.
TEST(FlushPipelines, GPipeAnd1F1BHaveOneBubbleAndTwoMemories) {
  for (const PhaseTimes& t : kRatios)
    for (int p : {2, 4, 8, 16})
      for (int m : {1, p, 2 * p + 1, 4 * p}) {
        const ScheduleShape shape = plain_shape(p, m);
        for (const bool alternates : {false, true}) {
          const Method schedule = alternates ? one_f_one_b() : gpipe();
          const TimedOrder found = timed(schedule.order(shape, {}), shape, t);
          const Duration bubble = (p - 1) * t.cycle();
          EXPECT_EQ(found.makespan, m * t.cycle() + bubble) << p << " " << m;
          // Device s begins s forwards late and ends s backwards early.
          for (int s = 0; s < p; ++s) {
            const auto at = static_cast<std::size_t>(s);
            EXPECT_EQ(found.bubbles[at], bubble - s * t.cycle()) << p << " " << m;
            EXPECT_EQ(found.live[at], alternates ? std::min(m, p - s) : m) << p << " " << m;
          }
        }
      }
}

// The bubble fractions that the sheet found with an executor of its own.
TEST(FlushPipelines, FractionsOfTheSheet) {
  const auto bubble_of_1000 = [](int p, int m) {
    const ScheduleShape shape = plain_shape(p, m);
    const Duration span = timed(one_f_one_b().order(shape, {}), shape, kEqual).makespan;
    return (10000 * (span - m * kEqual.cycle()) + span / 2) / span;
  };
  EXPECT_EQ(bubble_of_1000(4, 4), 4286);
  EXPECT_EQ(bubble_of_1000(4, 8), 2727);
  EXPECT_EQ(bubble_of_1000(8, 32), 1795);
}

// (p-1)(F+B+W)/v, and p(1 + (p-1)/(pv)) microbatches on the first device: vp + p - 1 chunks.
TEST(FlushPipelines, InterleavingDividesTheBubble) {
  for (int v : {2, 4})
    for (int p : {2, 4, 8, 16})
      for (int turns : {2, 3, 4}) {
        const int m = turns * p;
        const ScheduleShape shape{.devices = p, .stages = v * p, .microbatches = m};
        const Order order = interleaved_1f1b().order(shape, {});
        for (const PhaseTimes& whole : kRatios) {
          const PhaseTimes t{whole.forward / v, whole.backward_input / v,
                             whole.backward_weight / v};
          const TimedOrder found = timed(order, shape, t);
          EXPECT_EQ(found.makespan, m * whole.cycle() + (p - 1) * whole.cycle() / v)
              << p << " " << v << " " << m;
          EXPECT_EQ(found.live.front(), v * p + p - 1) << p << " " << v << " " << m;
        }
      }
}

// Its overheads in units of F with B + W = 2, and its peaks in microbatches, of three shapes.
TEST(FlushPipelines, InterleavedFiguresOfTheSheet) {
  const auto found = [](int p, int v, int m) {
    const ScheduleShape shape{.devices = p, .stages = v * p, .microbatches = m};
    const PhaseTimes t{kEqual.forward / v, kEqual.backward_input / v, kEqual.backward_weight / v};
    const TimedOrder timing = timed(interleaved_1f1b().order(shape, {}), shape, t);
    return std::pair{(timing.makespan - m * kEqual.cycle()).count(), 1000 * timing.live[0] / v};
  };
  EXPECT_EQ(found(4, 2, 8), (std::pair{std::int64_t{4500}, 5500}));
  EXPECT_EQ(found(4, 2, 16), (std::pair{std::int64_t{4500}, 5500}));
  EXPECT_EQ(found(8, 4, 32), (std::pair{std::int64_t{5250}, 9750}));
}

// Messages of one microbatch between devices, there and back: v times those of the plain pipeline
// and the way around, twice for a V, once where a microbatch takes one of two directions.
TEST(FlushPipelines, MessagesBetweenDevices) {
  const auto messages = [](const ScheduleShape& shape, int copy) {
    int count = 0;
    for (std::uint32_t s = 1; s < static_cast<std::uint32_t>(shape.stages); ++s)
      count += device_of({s - 1}, shape.devices, shape.stages, shape.placement, copy) !=
               device_of({s}, shape.devices, shape.stages, shape.placement, copy);
    return 2 * count;
  };
  for (int p : {2, 4, 8, 16}) {
    EXPECT_EQ(messages(plain_shape(p, 1), 0), 2 * (p - 1));
    EXPECT_EQ(messages({.devices = p, .stages = 3 * p}, 0), 2 * (3 * p - 1));
    EXPECT_EQ(messages(v_shape(p, 1), 0), 2 * 2 * (p - 1));
    for (int copy : {0, 1}) EXPECT_EQ(messages(both_ways(p, 1), copy), 2 * (p - 1));
  }
}

// Less memory costs time, more buys it: at F=B=W and p = 8, bubble within the longest span and most
// alive on a device. Of the 30 F of Chimera's four units, 12 are its own and 18 between them.
TEST(ZeroBubble, BubbleAgainstMemory) {
  constexpr int p = 8, m = 32;
  struct Row {
    Method method;
    int bubble, live_halves;  // bubble in units of F/2
  };
  const Row rows[] = {{one_f_one_b(), 42, 16}, {zb_h1(), 14, 16},   {zb_h2(), 0, 30},
                      {zb_v(), 0, 16},         {v_half(), 21, 10},  {v_min(), 27, 8},
                      {dualpipe_v(), 7, 17},   {dualpipe(), 6, 18}, {chimera(), 60, 16}};
  for (const Row& row : testing::non_empty(rows)) {
    const bool v = row.method.placement == Placement::V;
    ScheduleShape shape = v ? v_shape(p, m, chunk(kEqual)) : plain_shape(p, m);
    shape.placement = row.method.placement;
    const Params params = with_defaults({}, row.method.params);
    const TimedOrder found =
        timed(row.method.order(shape, params), shape, v ? chunk(kEqual) : kEqual);
    EXPECT_EQ(found.longest_bubble(), row.bubble * kEqual.forward / 2) << row.method.name;
    EXPECT_EQ(found.most_live() * (v ? 1 : 2), row.live_halves) << row.method.name;
  }
}

// The same request gives the same order.
TEST(ZeroBubble, OrdersAreDeterministic) {
  for (const Method& method : testing::non_empty(methods())) {
    if (!method.order || method.settles) continue;
    const bool v = method.placement == Placement::V || method.name == "interleaved";
    ScheduleShape shape{.devices = 6, .stages = v ? 12 : 6, .microbatches = 18};
    shape.times = kUneven;
    shape.placement = method.placement;
    const Params params = with_defaults({}, method.params);
    EXPECT_EQ(method.order(shape, params), method.order(shape, params)) << method.name;
    EXPECT_EQ(parse_order(to_text(method.order(shape, params))), method.order(shape, params));
  }
}

}  // namespace
}  // namespace trainyard
