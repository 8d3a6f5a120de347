#include <gtest/gtest.h>

#include "core/methods/catalogue.h"
#include "tests/support/flow_facts.h"
#include "tests/support/non_empty.h"
#include "tests/support/programs.h"

namespace trainyard {
namespace {

using testing::flow_facts;
using testing::params_of;

const Params kFlow = {{"flow", std::string("1f1b")}};

TEST(PipeMare, ReadsTheNewestWeightsEachTime) {
  const Method m = pipemare();
  EXPECT_EQ(
      to_text(m.order({.devices = 2, .stages = 2, .microbatches = 2, .steps = 2}, params_of(m))),
      "d0/compute  0F0 0F1 0F2 0F3 0B0 0B1 0U0@1 0B2@1 0B3@1 0U1@2\n"
      "d1/compute  1F0 1F1 1B0 1F2 1B1 1U0@1 1F3@1 1B2@1 1B3@1 1U1@2\n");
}

// Stage i of p, counted from 1, is d = 2(p-i)+1 microbatches stale: d/N updates on the mean,
// ceil(d/N) at most. Its backward is not stale at all, and there is one copy of the weights.
TEST(PipeMare, DelaysAreThoseOfThePaper) {
  for (int p : {2, 4, 8, 16})
    for (int n : {1, 2, 4, 8, 16, 32}) {
      const auto all = flow_facts(pipemare(), p, n, 2 + 6 * p / n);
      for (int i = 1; i <= p; ++i) {
        const StageFacts& f = all[static_cast<std::size_t>(i - 1)];
        const int d = 2 * (p - i) + 1;
        EXPECT_EQ(f.forward_delay, (d + n - 1) / n) << p << " " << n << " " << i;
        EXPECT_EQ(f.mean_delay_thousandths, 1000 * d / n);
        EXPECT_EQ(f.backward_delay, 0);
        EXPECT_EQ(f.versions, 1);
        EXPECT_EQ(f.live, d + 1);
        EXPECT_FALSE(f.consistent);
      }
    }
}

TEST(PipeMare, OnTheFlowOf1F1BDelaysHalve) {
  for (int p : {2, 4, 8, 16})
    for (int n : {1, 4, 16}) {
      const auto all = flow_facts(pipemare(), p, n, 2 + 4 * p / n, kFlow);
      for (int s = 0; s < p; ++s) {
        const StageFacts& f = all[static_cast<std::size_t>(s)];
        EXPECT_EQ(f.forward_delay, (p - 1 - s + n - 1) / n);
        EXPECT_EQ(f.backward_delay, 0);
        EXPECT_EQ(f.versions, 1);
        EXPECT_EQ(f.live, p - s);
        EXPECT_EQ(f.consistent, s == p - 1);
      }
    }
}

// T3: nothing is stale in the steps with a flush, and the delays are the same after them.
TEST(PipeMare, WarmupStepsFlush) {
  const Params warm = {{"warmup", std::int64_t{3}}};
  const int p = 4, n = 4;
  const Program program = testing::flow_program(pipemare(), p, n, 8, warm);
  for (const Staleness& s : testing::non_empty(staleness(program))) {
    if (s.microbatch >= 3 * n) continue;
    EXPECT_EQ(s.delay, 0);
    EXPECT_TRUE(s.consistent);
  }
  const auto all = facts(program);
  for (int i = 1; i <= p; ++i)
    EXPECT_EQ(all[static_cast<std::size_t>(i - 1)].mean_delay_thousandths,
              1000 * (2 * (p - i) + 1) / n);
  for (const StageFacts& f : testing::non_empty(flow_facts(pipemare(), p, n, 3, warm))) {
    EXPECT_EQ(f.forward_delay, 0);
    EXPECT_EQ(f.live, std::min(n, p - static_cast<int>(f.stage.value)));  // 1F1B
  }
}

TEST(PipeMare, TheMeanMotionIsOneMoreBufferOfTheWeights) {
  const Method m = pipemare();
  Layout plain, corrected;
  m.arrange(plain, {}, params_of(m, {{"correct", false}}));
  m.arrange(corrected, {}, params_of(m));
  EXPECT_EQ(plain.optimizer_bytes, Layout{}.optimizer_bytes);
  EXPECT_EQ(corrected.optimizer_bytes, plain.optimizer_bytes + 4);
  EXPECT_EQ(corrected.optimizer_touched_bytes, plain.optimizer_touched_bytes + 8);
}

// A flushed step takes (N + p - 1)(F + B) and one without a flush N (F + B).
TEST(PipeMare, UtilisationGainsWhatTheFlushCosts) {
  const auto end_of_updates = [](const Program& program, std::int32_t step) {
    const Timeline t = testing::play(program, [](const Task& task) {
      return task.phase == Phase::Update    ? Duration(0)
             : task.phase == Phase::Forward ? Duration(1000)
                                            : Duration(2000);
    });
    Instant end{};
    for (std::size_t i = 0; i < program.instructions.size(); ++i)
      if (program.task(InstructionId{static_cast<std::uint32_t>(i)}).phase == Phase::Update &&
          program.instructions[i].microbatch == step)
        end = std::max(end, t.spans[i].end);
    return end;
  };
  const Method m = pipemare();
  for (int p : {2, 4, 8})
    for (int n : {1, 4, 8}) {
      const int settles = m.settles({.devices = p, .stages = p, .microbatches = n}, params_of(m));
      const Program flowing = testing::flow_program(m, p, n, settles + 1);
      const Program flushed = testing::flow_program(m, p, n, 3, {{"warmup", std::int64_t{3}}});
      const int middle = (settles + 1) / 2;
      EXPECT_EQ(end_of_updates(flowing, middle) - end_of_updates(flowing, middle - 1),
                Duration(3000 * n))
          << p << " " << n;
      EXPECT_EQ(end_of_updates(flushed, 0), Duration(3000 * (n + p - 1))) << p << " " << n;
    }
}

TEST(PipeMare, SettlesAfterItsWarmup) {
  const Method m = pipemare();
  const ScheduleShape shape{.devices = 4, .stages = 4, .microbatches = 8};
  EXPECT_EQ(m.settles(shape, params_of(m, {{"warmup", std::int64_t{5}}})),
            2 * 5 + m.settles(shape, params_of(m)));
}

TEST(PipeMare, EveryShapeIsAValidOrder) {
  const Method method = pipemare();
  for (int p = 1; p <= 10; ++p)
    for (int m : {1, 2, 3, 8})
      for (int steps = 1; steps <= 4; ++steps)
        for (std::int64_t warmup : {0, 2, 9})
          for (const char* flow : {"paper", "1f1b"}) {
            const ScheduleShape shape{.devices = p, .stages = p, .microbatches = m, .steps = steps};
            const Params params =
                params_of(method, {{"warmup", warmup}, {"flow", std::string(flow)}});
            EXPECT_TRUE(check(method.order(shape, params), shape).empty())
                << p << " " << m << " " << steps << " " << warmup << " " << flow;
          }
}

}  // namespace
}  // namespace trainyard
