#include <gtest/gtest.h>

#include "core/methods/catalogue.h"
#include "tests/support/flow_facts.h"
#include "tests/support/non_empty.h"
#include "tests/support/programs.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;
using testing::flow_facts;
using testing::flow_program;
using testing::params_of;

Params given(int waves, const char* policy, const char* sync) {
  return {
      {"waves", std::int64_t{waves}}, {"policy", std::string(policy)}, {"sync", std::string(sync)}};
}

std::string text(const Params& params, const ScheduleShape& shape) {
  const Method m = tick_tock();
  return to_text(m.order(shape, params_of(m, params)));
}

const ScheduleShape kOneDevice{.devices = 1,
                               .stages = 1,
                               .microbatches = 2,
                               .steps = 2,
                               .times = {1000ns, 1000ns, 1000ns, {}}};

TEST(TickTock, HalfACycleApartAndAnUpdateOld) {
  EXPECT_EQ(text(given(2, "half-cycle", "async"), kOneDevice),
            "d0/wave 0  0F0 0B0 0U0@1 0F2@1 0B2@1 0U2@3\n"
            "d0/wave 1 +0.5 cycles  0F1/1 0B1/1 0U1/1@2 0F3/1@2 0B3/1@2 0U3/1@4\n"
            "0U0@1 < 0U1/1@2\n"
            "0U1/1@2 < 0U2@3\n"
            "0U2@3 < 0U3/1@4\n");
}

TEST(TickTock, AccumulatingLeavesTheUpdateToTheStep) {
  EXPECT_EQ(text(given(2, "aligned", "accumulate"), kOneDevice),
            "d0/wave 0  0F0 0B0\n"
            "d0/wave 1  0F1/1 0B1/1\n");
}

TEST(TickTock, LikePhasesExcludeEachOther) {
  EXPECT_EQ(text(given(2, "exclusive", "accumulate"), {.microbatches = 4}),
            "d0/wave 0  0F0 0B0 0F1 0B1\n"
            "d0/wave 1  0F2/1 0B2/1 0F3/1 0B3/1\n"
            "0F0 < 0F2/1\n"
            "0B0 < 0B2/1\n"
            "0F2/1 < 0F1\n"
            "0B2/1 < 0B1\n"
            "0F1 < 0F3/1\n"
            "0B1 < 0B3/1\n");
}

TEST(TickTock, ACustomOffsetIsAPartOfTheCycle) {
  Params params = given(3, "custom", "async");
  params.set("offset", 0.2);
  ScheduleShape shape = kOneDevice;
  shape.microbatches = 3;
  const Method m = tick_tock();
  const Order order = m.order(shape, params_of(m, params));
  ASSERT_EQ(order.lanes.size(), 3u);
  for (const Lane& lane : order.lanes) {
    EXPECT_EQ(lane.behind, &lane == &order.lanes.front() ? 0 : 0.2);
    EXPECT_EQ(lane.delay, 0ns);
  }
}

// K waves that share weights: each gradient is K - 1 updates old, and K versions are kept.
TEST(TickTock, SharedWeightsAreKMinusOneUpdatesOld) {
  for (int waves : {1, 2, 3, 4})
    for (const char* policy : {"half-cycle", "exclusive", "aligned"})
      for (int share : {1, 3})
        for (const StageFacts& f :
             flow_facts(tick_tock(), 1, waves * share, 6, given(waves, policy, "async"))) {
          EXPECT_EQ(f.forward_delay, waves - 1);
          EXPECT_EQ(f.backward_delay, waves - 1);
          EXPECT_EQ(f.mean_delay_thousandths, 1000 * (waves - 1));
          EXPECT_EQ(f.versions, waves);
          EXPECT_EQ(f.live, waves);
          EXPECT_TRUE(f.consistent);
        }
}

TEST(TickTock, AccumulatingIsNeverStale) {
  for (const StageFacts& f :
       testing::non_empty(flow_facts(tick_tock(), 1, 4, 3, given(2, "aligned", "accumulate")))) {
    EXPECT_EQ(f.forward_delay, 0);
    EXPECT_EQ(f.versions, 1);
  }
}

TEST(TickTock, LocalWavesHoldTheirOwnWeightsAndMeetToAverage) {
  Params params = given(2, "half-cycle", "local");
  params.set("period", std::int64_t{2});
  for (const StageFacts& f : testing::non_empty(flow_facts(tick_tock(), 1, 2, 6, params))) {
    EXPECT_EQ(f.forward_delay, 0);
    EXPECT_EQ(f.versions, 2);
  }
  ScheduleShape shape = kOneDevice;
  shape.steps = 3;
  EXPECT_EQ(text(params, shape),
            "d0/wave 0  0F0 0B0 0U0@1 0F2@1 0B2@1 0U2@2 0F4@2 0B4@2 0U4@3\n"
            "d0/wave 1 +0.5 cycles  0F1/1 0B1/1 0U1/1@1 0F3/1@1 0B3/1@1 0U3/1@2 0F5/1@2 0B5/1@2 "
            "0U5/1@3\n"
            "0U1/1@1 < 0U2@2\n"
            "0U2@2 < 0U3/1@2\n"
            "0U3/1@2 < 0U4@3\n");
}

// N waves over N devices: N - i in flight on device i, as many versions, N - 1 - i updates old.
TEST(TickTock, ModelParallelWavesFillThePipeline) {
  for (int n : {2, 4, 8, 16}) {
    const auto all = flow_facts(tick_tock(), n, n, 6, given(n, "half-cycle", "async"));
    for (int i = 0; i < n; ++i) {
      const StageFacts& f = all[static_cast<std::size_t>(i)];
      EXPECT_EQ(f.live, n - i);
      EXPECT_EQ(f.versions, n - i);
      EXPECT_EQ(f.forward_delay, n - 1 - i);
      EXPECT_TRUE(f.consistent);
    }
  }
}

// K waves keep min(1, K/N) of the devices busy.
TEST(TickTock, UtilisationIsWavesOverDevices) {
  for (int n : {2, 4, 8})
    for (int waves = 1; waves <= n + 1; ++waves)
      for (const char* sync : {"async", "accumulate"}) {
        const int m = 40 * n;
        const Program program = flow_program(tick_tock(), n, m, 1, given(waves, "aligned", sync));
        const Timeline t = testing::play(program, [](const Task& task) {
          return task.phase == Phase::Forward    ? Duration(1000)
                 : task.phase == Phase::Backward ? Duration(2000)
                                                 : Duration(0);
        });
        Duration end{};
        for (const Span& span : t.spans) end = std::max(end, span.end);
        const double busy = 3000.0 * m, share = busy / static_cast<double>(end.count());
        // Fill and drain are 3 (n - 1) thousand at most.
        EXPECT_NEAR(share, std::min(1.0, static_cast<double>(waves) / n), 0.03)
            << n << " " << waves << " " << sync;
      }
}

TEST(TickTock, EveryShapeIsAValidOrder) {
  for (int waves : {1, 2, 3, 5})
    for (const char* sync : {"accumulate", "async", "local"})
      for (const char* policy : {"half-cycle", "exclusive", "aligned", "custom"})
        for (int share : {1, 2})
          for (int steps : {1, 2, 5})
            flow_program(tick_tock(), 1, waves * share, steps, given(waves, policy, sync));
  for (int waves : {1, 2, 3, 9})
    for (const char* sync : {"accumulate", "async"})
      for (int n : {2, 3, 8})
        for (int m : {1, 2, 5, 16})
          flow_program(tick_tock(), n, m, 3, given(waves, "aligned", sync));
}

TEST(TickTock, ChecksThePlan) {
  const Method method = tick_tock();
  Scenario scenario;
  scenario.plan.mesh.dp = 1;
  scenario.plan.batch.global = 4;
  EXPECT_TRUE(method.check(scenario, params_of(method)).empty());
  scenario.plan.batch.global = 5;
  Diagnostics found = method.check(scenario, params_of(method));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message,
            "tick-tock's 2 waves share the microbatches of a step, and 5 do not divide among them");
  EXPECT_EQ(found[0].fix, "global-batch=6");
  scenario.plan.mesh.pp = 2;
  EXPECT_TRUE(method.check(scenario, params_of(method)).empty());
  found = method.check(scenario, params_of(method, given(3, "aligned", "local")));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].message,
            "tick-tock has 3 waves on 2 devices, and 2 keep all of them busy; the others wait");
  EXPECT_EQ(found[1].message,
            "tick-tock's sync=local is of waves that share one device, and pp is 2");
}

}  // namespace
}  // namespace trainyard
