// Virtual time is the simulator with measured instead of priced work: if kernels take exactly their
// priced times, both agree, to the nanosecond and the byte.
#include "backends/cpu/time/virtual_time.h"

#include <gtest/gtest.h>

#include "core/cost/roofline.h"
#include "core/lowering/draft.h"
#include "core/methods/catalogue.h"
#include "core/methods/settings/settings.h"
#include "tests/support/fake_execution.h"
#include "tests/support/layers.h"
#include "tests/support/non_empty.h"
#include "tests/support/scenarios.h"
#include "tests/support/tiny_models.h"
#include "tests/support/two_lanes.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;
using testing::FakeExecution;

// Kernels take the times in `prices`, on a clock that only they advance.
struct Measured {
  Measured(const Program& program, const TaskPrices& prices, int tp, int replicas)
      : execution(program, tp, replicas) {
    execution.work = [this, &program, &prices](InstructionId id, int) {
      clock += prices.time[program.instructions[id.value].task.value];
    };
    driver = virtual_time_driver(prices, [this] { return clock; });
  }
  Timeline run(int repetition = 0, LiveSink* live = nullptr) {
    execution.begin_repetition(repetition);
    Timeline t = driver->run(execution, repetition, live, {}).timeline;
    execution.end_repetition(repetition);
    return t;
  }

  Duration clock{};
  FakeExecution execution;
  std::unique_ptr<Driver> driver;
};

struct Priced {
  Workload workload;
  Program program;
  TaskPrices prices;
};

Priced priced(const Scenario& s, int steps = 1) {
  Priced made{prepare(s), {}, {}};
  LowerOptions options;
  options.grain = Grain::Op;
  options.steps = steps;
  made.program = lower(made.workload, options);
  const auto cost = roofline_cost_model();
  const Scenario& complete = made.workload.scenario;
  made.prices = price(made.program, complete.plan.mesh, complete.cluster, *cost);
  // Lanes of a CPU device share its core, whatever share of a GPU they would leave free.
  for (std::size_t t = 0; t < made.program.tasks.size(); ++t)
    if (made.program.tasks[t].kind == TaskKind::Compute) made.prices.fill[t] = 1.0;
  return made;
}

void expect_the_same(const Priced& p, const std::string& what) {
  const int tp = p.workload.scenario.plan.mesh.tp;
  Measured measured(p.program, p.prices, tp, static_cast<int>(p.program.replicas) / tp);
  const Timeline predicted = simulate(p.program, p.prices);
  for (int repetition = 0; repetition < 2; ++repetition) {
    const Timeline timeline = measured.run(repetition);
    EXPECT_EQ(timeline.spans, predicted.spans) << what;
    for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(p.program.devices); ++d)
      for (int peer = 0; peer < measured.execution.peers(); ++peer) {
        const MemoryWave has = measured.execution.arena({d}, peer).take_wave();
        const MemoryWave wants = memory_wave(predicted, p.program, {d});
        EXPECT_EQ(has.samples[has.peak].bytes, wants.samples[wants.peak].bytes)
            << what << " d" << d;
        EXPECT_EQ(has.samples[has.peak].at, wants.samples[wants.peak].at) << what << " d" << d;
        ASSERT_EQ(has.samples.size(), wants.samples.size()) << what << " d" << d;
        for (std::size_t i = 0; i < has.samples.size(); ++i)
          EXPECT_TRUE(has.samples[i].at == wants.samples[i].at &&
                      has.samples[i].bytes == wants.samples[i].bytes)
              << what << " d" << d << " sample " << i;
      }
  }
  for (const std::string& wrong : measured.execution.wrong())
    ADD_FAILURE() << what << ": " << wrong;
}

TEST(VirtualTime, IsTheSimulatorWhereKernelsTakeTheirPrices) {
  int ran = 0;
  for (const Method& m : testing::non_empty(methods())) {
    if (!m.order) continue;
    for (const int chunks : {1, 2}) {
      for (const char* extra : {"tp=1", "tp=2", "zero=1", "zero=2", "zero=3", "offload=optimizer",
                                "offload=activations", "offload=both"}) {
        Scenario s = testing::pipeline({std::string(m.name), 4, chunks, 8});
        s.cluster = make_cluster(device("h100-sxm"), 8);
        apply_setting(s.plan, extra);
        s.plan.batch.global = 16;
        if (has_errors(check(s))) continue;
        expect_the_same(priced(s), std::string(m.name) + " " + extra);
        ++ran;
      }
    }
  }
  EXPECT_GE(ran, 100);
}

// Keys and values travel beside the attention that reads them, and their gradients beside the one
// that makes them.
TEST(VirtualTime, IsTheSimulatorWhereRanksDivideTheSequence) {
  int ran = 0;
  for (const Method& m : testing::non_empty(methods())) {
    if (!m.order) continue;
    for (const char* extra : {"tp=2", "recompute=full", "recompute=op", "overlap=off", "zero=3"}) {
      Scenario s = testing::scenario(testing::tiny_transformer(), 8,
                                     {"cp=2", "pp=2", "seq=4", "global-batch=16", "micro-batch=1",
                                      "schedule=" + std::string(m.name), extra},
                                     "h100-sxm");
      if (has_errors(check(s))) continue;
      expect_the_same(priced(s), std::string(m.name) + " " + extra);
      ++ran;
    }
  }
  EXPECT_GE(ran, 40);
}

TEST(VirtualTime, LanesOfADeviceShareItsCore) {
  const Program p = testing::two_lanes(5, 300us);
  const TaskPrices prices = testing::fixed_prices(p, 1ms, 1ms);
  Measured measured(p, prices, 1, 1);
  EXPECT_EQ(measured.run().spans, simulate(p, prices).spans);
  EXPECT_EQ(makespan(measured.run()), 10ms);
}

TEST(VirtualTime, NamesWhatWaitsInADeadlock) {
  const Program p = testing::circle_of_waits();
  const TaskPrices prices = testing::fixed_prices(p, 1ms, 1ms);
  Measured measured(p, prices, 1, 2);
  try {
    measured.run();
    FAIL() << "a circle of waits ran";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), testing::kCircleSaid);
  }
}

TEST(VirtualTime, NamesTheInstructionThatFailed) {
  const Program p = testing::two_lanes(2, 0ms);
  const TaskPrices prices = testing::fixed_prices(p, 1ms, 1ms);
  Measured measured(p, prices, 1, 1);
  measured.execution.work = [](InstructionId id, int) {
    if (id.value == 3) throw Error(Error::Kind::OutOfMemory, "no more");
  };
  try {
    measured.run();
    FAIL() << "ran";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::OutOfMemory);
    EXPECT_EQ(describe(e), "no more (while running stage 0 F1)");
  }
}

TEST(VirtualTime, StopsWhenAsked) {
  const Program p = testing::two_lanes(2, 0ms);
  const TaskPrices prices = testing::fixed_prices(p, 1ms, 1ms);
  Measured measured(p, prices, 1, 1);
  std::stop_source stop;
  stop.request_stop();
  measured.execution.begin_repetition(0);
  EXPECT_THROW(measured.driver->run(measured.execution, 0, nullptr, stop.get_token()), Error);
}

TEST(VirtualTime, TellsItsSinkEverySpanOnce) {
  const Priced p = priced(testing::pipeline({"1f1b", 2, 1, 4}));
  Measured measured(p.program, p.prices, 1, 2);
  LiveSink live(4);
  const Timeline first = measured.run(0, &live), second = measured.run(1, &live);
  std::vector<LiveSpan> spans;
  std::vector<LiveMemory> memory;
  std::vector<LiveStep> steps;
  live.drain(spans, memory, steps);
  EXPECT_EQ(spans.size(), 4 * p.program.instructions.size());
  EXPECT_EQ(memory.size(), 2 * spans.size());
  for (const LiveSpan& s : testing::non_empty(spans)) {
    const Timeline& t = s.repetition == 0 ? first : second;
    const Duration earlier = s.repetition == 0 ? 0ns : makespan(first);
    EXPECT_EQ(s.span.start, earlier + t.spans[s.instruction.value].start);
    EXPECT_EQ(s.span.end, earlier + t.spans[s.instruction.value].end);
  }
}

// No update begins before the gradients of every stage and peer are available, and nothing waits
// for what comes after an update.
TEST(VirtualTime, UpdatesBeginTogetherWhereTheyMust) {
  for (const char* extra : {"tp=1", "zero=1", "zero=3"})
    for (const char* schedule : {"1f1b", "interleaved", "dualpipe", "zb-h1"}) {
      const bool chunks = std::string_view(schedule) == "interleaved";
      Scenario s = testing::pipeline({schedule, 2, chunks ? 2 : 1, 8});
      s.cluster = make_cluster(device("h100-sxm"), 4);
      apply_setting(s.plan, extra);
      if (has_errors(check(s))) continue;
      const Priced p = priced(s);
      Measured measured(p.program, p.prices, 1, 2);
      measured.execution.together = true;
      bool updating = false;
      const auto work = measured.execution.work;
      measured.execution.work = [&](InstructionId id, int peer) {
        work(id, peer);
        if (p.program.task(id).phase != Phase::Update || std::exchange(updating, true)) return;
        for (std::uint32_t i = 0; i < p.program.instructions.size(); ++i) {
          const Task& task = p.program.task(InstructionId{i});
          if (task.phase != Phase::Backward || task.kind != TaskKind::Compute) continue;
          for (int q = 0; q < 2; ++q)
            EXPECT_TRUE(measured.execution.ended({i}, q))
                << schedule << " " << extra << " " << describe(p.program, InstructionId{i});
        }
      };
      measured.run();
      EXPECT_TRUE(updating);
      EXPECT_TRUE(measured.execution.wrong().empty());
    }
}

}  // namespace
}  // namespace trainyard
