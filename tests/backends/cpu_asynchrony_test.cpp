// Tests asynchronous schedules on the CPU backend: the versions, corrections and predictions of the
// reference, in 4-byte floats.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <tuple>

#include "backends/cpu/live.h"
#include "backends/reference/reference_machine.h"
#include "core/methods/catalogue.h"
#include "core/program/facts.h"
#include "core/timeline/metrics.h"
#include "tests/support/cpu_training.h"
#include "tests/support/non_empty.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::CpuRun;
using testing::Settings;
using testing::tiny_mlp;
using testing::train_on_cpu;

// One rule per stage, from the delays of the program.
std::vector<UpdateRule> rules_of(const CpuRun& run, const Training& training) {
  const Method& schedule = schedule_of(run.workload.scenario.plan);
  const Choice* choice = find_choice(run.workload.scenario.plan, schedule.name);
  std::vector<UpdateRule> rules;
  for (const StageFacts& f : facts(run.program))
    rules.push_back(
        update_rule_of(schedule.name, choice->params, f, training.rate, training.momentum));
  return rules;
}

ReferenceRun on_reference(const CpuRun& fast, const Training& training) {
  ReferenceOptions options;
  options.rules = rules_of(fast, training);
  testing::start_as(fast, options);
  return ReferenceMachine(fast.workload, fast.program).run(options);
}

TEST(CpuAsynchrony, AgreesWithTheReference) {
  struct Case {
    int devices;
    Settings settings;
  };
  const Case cases[] = {
      {4, {"schedule=pipedream", "pp=4", "global-batch=4", "micro-batch=1"}},
      {4, {"schedule=pipedream-2bw", "pp=4", "global-batch=8", "micro-batch=2"}},
      {4, {"schedule=pipemare", "pp=4", "global-batch=2", "micro-batch=1"}},
      {4,
       {"schedule=pipemare", "pp=4", "global-batch=2", "micro-batch=1", "pipemare.correct=off",
        "pipemare.reschedule=4"}},
      {4, {"schedule=pipemare", "pp=4", "global-batch=4", "micro-batch=1", "pipemare.warmup=2"}},
      {4, {"schedule=pipelined-backprop", "pp=4", "global-batch=1", "micro-batch=1"}},
      {4,
       {"schedule=pipelined-backprop", "pp=4", "global-batch=1", "micro-batch=1",
        "pipelined-backprop.predict=none", "pipelined-backprop.compensate=off",
        "pipelined-backprop.stash=on"}},
      {4,
       {"schedule=pipelined-backprop", "pp=4", "global-batch=1", "micro-batch=1",
        "pipelined-backprop.stash=on"}},
      {4,
       {"schedule=pipelined-backprop", "pp=4", "global-batch=1", "micro-batch=1",
        "pipelined-backprop.predict=velocity", "pipelined-backprop.compensate=on"}},
      {4,
       {"schedule=pipelined-backprop", "pp=4", "global-batch=1", "micro-batch=1",
        "pipelined-backprop.predict=weight", "pipelined-backprop.compensate=on"}},
      {1, {"schedule=tick-tock", "global-batch=4", "micro-batch=1", "tick-tock.sync=async"}},
      {1, {"schedule=tick-tock", "global-batch=4", "micro-batch=1", "tick-tock.sync=accumulate"}},
      {2,
       {"schedule=tick-tock", "global-batch=8", "micro-batch=1", "dp=2", "tick-tock.sync=async"}},
      {2,
       {"schedule=tick-tock", "global-batch=8", "micro-batch=1", "dp=2",
        "tick-tock.sync=accumulate"}},
      {2,
       {"schedule=tick-tock", "global-batch=8", "micro-batch=1", "dp=2", "tick-tock.sync=local",
        "tick-tock.period=2"}},
      {1,
       {"schedule=tick-tock", "global-batch=4", "micro-batch=1", "tick-tock.sync=local",
        "tick-tock.period=2"}},
      {1,
       {"schedule=tick-tock", "global-batch=6", "micro-batch=1", "tick-tock.sync=local",
        "tick-tock.period=1", "tick-tock.waves=3", "tick-tock.policy=exclusive"}},
      {3,
       {"schedule=tick-tock", "pp=3", "global-batch=6", "micro-batch=1", "tick-tock.waves=3",
        "tick-tock.sync=async"}},
  };
  Training training;
  training.rate = 0.05;
  training.momentum = 0.5;
  training.steps = 12;
  for (const Case& c : testing::non_empty(cases)) {
    std::string name;
    for (std::string_view one : c.settings) name += std::string(one) + " ";
    SCOPED_TRACE(name);
    Settings settings = {"optimizer=momentum"};
    settings.insert(settings.end(), c.settings.begin(), c.settings.end());
    const CpuRun fast = train_on_cpu(tiny_mlp(12), c.devices, settings, training);
    const bool whole_run = fast.program.steps > 1;
    Training one = training;
    if (!whole_run) one.steps = 1;
    const ReferenceRun exact = on_reference(fast, one);
    const std::size_t steps = whole_run ? exact.step_losses.size() : 1;
    ASSERT_GE(fast.run.losses.size(), steps);
    for (std::size_t i = 0; i < steps; ++i)
      EXPECT_NEAR(fast.run.losses[i], exact.step_losses[i], 2e-5) << "step " << i;
  }
}

// On one stage whose forwards are not ahead nothing is late, so the corrections change nothing: no
// optimizer is replaced by another. HALP is refused under these schedules.
TEST(CpuAsynchrony, WithoutLatenessEveryOptimizerIsItself) {
  Training training;
  training.rate = 0.05;
  training.weight_decay = 0.1;
  training.steps = 4;
  for (const Optimizer& optimizer : optimizers())
    for (const char* precision : {"precision=fp32", "precision=bf16"}) {
      if (optimizer.name == "halp") continue;
      SCOPED_TRACE(std::string(optimizer.name) + " " + precision);
      const std::string rule = "optimizer=" + std::string(optimizer.name);
      const auto losses = [&](Settings settings) {
        settings.insert(settings.end(), {"global-batch=4", "micro-batch=1", rule, precision});
        return train_on_cpu(tiny_mlp(4), 1, settings, training).run.losses;
      };
      const std::vector<double> expected = losses({"schedule=1f1b"});
      EXPECT_EQ(losses({"schedule=pipemare", "pipemare.flow=1f1b"}), expected);
      EXPECT_NE(expected.front(), expected.back());
    }
}

// Weights that are derived in 4-byte floats are read in the format of the others.
TEST(CpuAsynchrony, DerivedWeightsAreReadInTheirOwnFormat) {
  Training training;
  training.rate = 0.05;
  training.momentum = 0.5;
  training.steps = 12;
  for (const Settings& schedule :
       {Settings{"schedule=pipemare", "global-batch=2"},
        Settings{"schedule=pipelined-backprop", "global-batch=1"},
        Settings{"schedule=pipelined-backprop", "global-batch=1", "pipelined-backprop.stash=on"}}) {
    const auto losses = [&](const char* precision) {
      Settings settings = schedule;
      settings.insert(settings.end(), {"pp=4", "micro-batch=1", "optimizer=momentum", precision});
      return train_on_cpu(tiny_mlp(4), 4, settings, training).run.losses;
    };
    const std::vector<double> exact = losses("precision=fp32");
    for (const char* precision : {"precision=bf16", "precision=bf16-sr"}) {
      const std::vector<double> rounded = losses(precision);
      EXPECT_NE(rounded, exact);
      for (std::size_t i = 0; i < exact.size(); ++i)
        EXPECT_NEAR(rounded[i], exact[i], 0.05) << schedule.front() << ", step " << i;
    }
  }
}

// Waves with weights of their own take means of numbers in the format in which these are kept: a
// master copy where there is one.
TEST(CpuAsynchrony, WavesMeetInEveryFormat) {
  Training training;
  training.rate = 0.05;
  training.steps = 12;
  const auto run = [&](const char* precision, const char* period) {
    return train_on_cpu(tiny_mlp(4), 1,
                        {"schedule=tick-tock", "tick-tock.sync=local", period, "tick-tock.waves=3",
                         "global-batch=6", "micro-batch=1", "optimizer=momentum", precision},
                        training);
  };
  const CpuRun exact = run("precision=fp32", "tick-tock.period=2"),
               apart = run("precision=fp32", "tick-tock.period=1000");
  EXPECT_NE(exact.run.losses, apart.run.losses);
  for (const char* precision : {"precision=bf16", "precision=bf16-sr", "precision=bf16-kahan"}) {
    const CpuRun rounded = run(precision, "tick-tock.period=2");
    EXPECT_NE(rounded.run.losses, exact.run.losses);
    for (std::size_t i = 0; i < exact.run.losses.size(); ++i)
      EXPECT_NEAR(rounded.run.losses[i], exact.run.losses[i], 0.05) << precision << ", step " << i;
  }
}

// The mean of all waves reads K sets of weights and writes one, in the update that ends a period.
TEST(CpuAsynchrony, TheMeanOfTheWavesIsPriced) {
  for (const auto& [precision, read, written] :
       {std::tuple{"precision=fp32", 4, 4}, {"precision=bf16", 4, 4 + 2}}) {
    const Workload w = prepare(
        testing::scenario(tiny_mlp(4), 1,
                          {"schedule=tick-tock", "tick-tock.sync=local", "tick-tock.period=2",
                           "tick-tock.waves=3", "global-batch=6", "micro-batch=1", precision},
                          "cpu"));
    const Program p = lower(w, {.grain = Grain::Op, .steps = 4});
    const std::int64_t n = parameters(w.scenario.model);
    std::map<int, Bytes> more;  // by weight version that an update writes
    for (const Instruction& in : p.instructions) {
      const Task& task = p.task(in);
      if (task.kind != TaskKind::Compute || task.phase != Phase::Update) continue;
      Bytes touched{};
      for (std::uint32_t i = task.first_work; i < task.first_work + task.works; ++i)
        touched += (p.works[i].work.read + p.works[i].work.written) * p.works[i].count;
      more[in.weights] = touched;
    }
    ASSERT_EQ(more.size(), 4u);
    EXPECT_EQ(more[1], more[3]);
    EXPECT_EQ(more[2], more[4]);
    EXPECT_EQ((more[2] - more[1]).value, n * (3 * read + written)) << precision;
  }
}

// The steps of an asynchronous run are measured one by one, from update to update.
TEST(CpuAsynchrony, StepTimesAddUpToTheRun) {
  Training training;
  training.steps = 6;
  for (const char* schedule :
       {"schedule=pipedream", "schedule=pipemare", "schedule=pipedream-2bw"}) {
    const CpuRun run = train_on_cpu(
        tiny_mlp(4), 2, {"pp=2", "global-batch=4", "micro-batch=1", schedule}, training);
    ASSERT_EQ(run.run.step_times.size(), 6u);
    Duration sum{};
    for (const Duration time : run.run.step_times) sum += time;
    EXPECT_EQ(sum, makespan(run.run.timeline));
    EXPECT_EQ(run.run.step_times[3], step_window(run.run.timeline, run.program).length());
  }
}

// A schedule that takes five steps to settle still trains a single step if one is asked for.
TEST(CpuAsynchrony, TrainsAsManyStepsAsItIsAskedFor) {
  struct Case {
    std::int64_t devices;
    Settings settings;
  };
  const Case cases[] = {
      {1, {"schedule=tick-tock", "tick-tock.sync=local", "tick-tock.period=2"}},
      {1, {"schedule=tick-tock", "tick-tock.sync=async"}},
      {2, {"pp=2", "schedule=tick-tock", "tick-tock.sync=async"}},
      {2, {"pp=2", "schedule=pipedream"}},
      {2, {"pp=2", "schedule=pipedream-2bw"}},
      {2, {"pp=2", "schedule=pipemare"}},
      {2, {"pp=2", "schedule=pipelined-backprop"}},
  };
  for (const Case& c : testing::non_empty(cases))
    for (const std::int64_t steps : {1, 2, 3, 4, 7}) {
      Settings settings = {"global-batch=4", "micro-batch=1"};
      settings.insert(settings.end(), c.settings.begin(), c.settings.end());
      Training training;
      training.steps = steps;
      LiveSink sink(8);
      CpuOptions options;
      options.live = &sink;
      const CpuRun run = train_on_cpu(tiny_mlp(4), c.devices, settings, training, options);
      std::vector<LiveSpan> spans;
      std::vector<LiveMemory> memory;
      std::vector<LiveStep> told;
      sink.drain(spans, memory, told);
      ASSERT_EQ(told.size(), static_cast<std::size_t>(steps)) << c.settings.back();
      for (std::size_t s = 0; s < told.size(); ++s) {
        EXPECT_EQ(told[s].step, static_cast<std::int64_t>(s) + 1);
        EXPECT_EQ(told[s].loss, run.run.losses[s]) << c.settings.back();
      }
      EXPECT_EQ(run.run.losses.size(), static_cast<std::size_t>(steps)) << c.settings.back();
      EXPECT_EQ(run.run.step_times.size(), static_cast<std::size_t>(steps)) << c.settings.back();
    }
}

}  // namespace
}  // namespace trainyard
