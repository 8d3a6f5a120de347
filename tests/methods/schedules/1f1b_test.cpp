#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/methods/catalogue.h"
#include "core/methods/orders/closed_form.h"
#include "core/methods/orders/recurrence.h"

namespace trainyard {
namespace {

TEST(OneFOneB, FillsAlternatesAndDrains) {
  EXPECT_EQ(to_text(one_f_one_b().order({.devices = 3, .stages = 3, .microbatches = 4}, {})),
            "d0/compute  0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3\n"
            "d1/compute  1F0 1F1 1B0 1F2 1B1 1F3 1B2 1B3\n"
            "d2/compute  2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3\n");
}

TEST(OneFOneB, FewerMicrobatchesThanStagesOnlyFillAndDrain) {
  EXPECT_EQ(to_text(one_f_one_b().order({.devices = 3, .stages = 3, .microbatches = 1}, {})),
            "d0/compute  0F0 0B0\n"
            "d1/compute  1F0 1B0\n"
            "d2/compute  2F0 2B0\n");
}

TEST(OneFOneB, EveryShapeIsAValidOrder) {
  for (int p = 1; p <= 16; ++p)
    for (int m : {1, 2, 3, 7, 8, 16, 33, 64}) {
      const ScheduleShape shape{.devices = p, .stages = p, .microbatches = m};
      EXPECT_TRUE(check(one_f_one_b().order(shape, {}), shape).empty()) << p << " " << m;
    }
}

// Forwards ahead of backwards, at their most: min(m, p - s) on stage s.
TEST(OneFOneB, LiveMicrobatchesFallFromStageToStage) {
  for (int p = 1; p <= 8; ++p)
    for (int m = 1; m <= 12; ++m) {
      const Order order = one_f_one_b().order({.devices = p, .stages = p, .microbatches = m}, {});
      for (int s = 0; s < p; ++s) {
        int alive = 0, most = 0;
        for (const Action& a : order.lanes[static_cast<std::size_t>(s)].actions) {
          alive += a.phase == Phase::Forward ? 1 : -1;
          most = std::max(most, alive);
        }
        EXPECT_EQ(most, std::min(m, p - s));
      }
    }
}

Duration some(int most) { return Duration{*rc::gen::inRange(0, most)}; }

std::vector<ActionTime> actions(std::size_t stages) {
  std::vector<ActionTime> list;
  for (std::size_t s = 0; s < stages; ++s)
    list.push_back({some(20), some(100), some(30), some(60), some(60)});
  return list;
}

std::vector<LayerTraffic> traffic(std::size_t stages) {
  std::vector<LayerTraffic> list;
  for (std::size_t s = 0; s < stages; ++s) list.push_back({some(50), some(200)});
  return list;
}

TEST(OneFOneB, OnePassOverItsActionsIsItsOrderFollowed) {
  EXPECT_TRUE(rc::check([] {
    const int p = *rc::gen::inRange(1, 9), m = *rc::gen::inRange(1, 30);
    const auto stages = static_cast<std::size_t>(p);
    PipelineTimes times;
    times.forward = actions(stages), times.backward = actions(stages);
    if (*rc::gen::arbitrary<bool>()) times.reduce = traffic(stages);
    if (*rc::gen::arbitrary<bool>()) times.arrive = traffic(stages);
    times.reduce_every = *rc::gen::arbitrary<bool>();
    times.reduce_overlapped = *rc::gen::arbitrary<bool>();
    times.transfer = some(40);
    times.blocking_sends = *rc::gen::arbitrary<bool>();
    times.contention = *rc::gen::element(0.0, 0.3);
    const ScheduleShape shape{.devices = p, .stages = p, .microbatches = m};
    const PipelineEstimate one = follow_one_f_one_b(m, times),
                           order = follow(one_f_one_b().order(shape, {}), shape, times,
                                          {.holdings = false});
    RC_ASSERT(one.span == order.span);
    RC_ASSERT(one.ends == order.ends);
    RC_ASSERT(one.reduced == order.reduced);
  }));
}

TEST(OneFOneB, HasOneStageADevice) {
  const Method method = one_f_one_b();
  Scenario scenario;
  EXPECT_TRUE(method.check(scenario, {}).empty());
  scenario.plan.virtual_stages = 2;
  const Diagnostics found = method.check(scenario, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message,
            "1f1b has one stage per device, and virtual-stages is 2; interleaved runs several");
  EXPECT_EQ(found[0].fix, "schedule=interleaved");
}

}  // namespace
}  // namespace trainyard
