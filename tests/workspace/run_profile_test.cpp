// Tests prices from a run's measurements: for the run's own plan they predict what the run took.
#include "app/workspace/runs/run_profile.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "app/workspace/scenario/priced_scenario.h"
#include "core/io/documents/measured_prices.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

const RunMachine kHere{"a machine, 2 cores", {1us, {10e9}}, {8e9}};

Scenario two_stages() {
  return open({"mlp-small", "cpu:2", "", {"pp=2", "global-batch=8", "precision=fp32"}});
}

// Every span so many times as long as predicted; lengths are all that prices are made from.
Timeline slower(const Experiment& predicted, int times) {
  Timeline timeline = predicted.timeline;
  timeline.clock = Timeline::Clock::Measured;
  for (Span& span : timeline.spans) span = {span.start * times, span.end * times};
  return timeline;
}

TEST(RunProfile, ARunPricesItsOwnPlanAsItWentThere) {
  const Scenario scenario = two_stages();
  const auto cost = cost_model(scenario);
  const ExperimentPtr predicted = predict_training(scenario, {}, cost.get());
  const Calibration c =
      run_calibration(*predicted, slower(*predicted, 3), {30ms, 30ms}, *cost, kHere);
  EXPECT_FALSE(c.kernels.empty());
  EXPECT_EQ(c.machine, kHere.name);
  EXPECT_EQ(c.copy.start, 1us);
  EXPECT_EQ(c.reduce, kHere.reduce);
  EXPECT_EQ(c.overhead, Duration{});
  Scenario again = scenario;
  const auto own = priced_by(c, again);
  const ExperimentPtr after = predict_training(again, {}, own.get());
  ASSERT_EQ(after->timeline.spans.size(), predicted->timeline.spans.size());
  for (std::uint32_t i = 0; i < after->timeline.spans.size(); ++i) {
    const Task& task = after->program.task(InstructionId{i});
    if (task.kind != TaskKind::Compute) continue;
    // A work that is rounded to nanoseconds for each kernel of the instruction.
    const Duration off =
        after->timeline.spans[i].length() - 3 * predicted->timeline.spans[i].length();
    EXPECT_LE(std::abs(off.count()), 2 * static_cast<std::int64_t>(task.works) + 1)
        << describe(after->program, InstructionId{i});
  }
}

TEST(RunProfile, ItsOwnCheckIsOfTheOtherSteps) {
  const Scenario scenario = two_stages();
  const auto cost = cost_model(scenario);
  const ExperimentPtr predicted = predict_training(scenario, {}, cost.get());
  const Duration kept = makespan(predicted->timeline);
  const auto check = [&](std::vector<Duration> steps) {
    const Calibration c = run_calibration(*predicted, predicted->timeline, steps, *cost, kHere);
    return std::pair(c.residual_median, c.residual_worst);
  };
  EXPECT_EQ(check({}), std::pair(0.0, 0.0));
  EXPECT_EQ(check({kept}), std::pair(0.0, 0.0));
  // The first is left out, however long it took.
  EXPECT_EQ(check({100 * kept, kept, kept}), std::pair(0.0, 0.0));
  const auto [middle, worst] = check({kept, 2 * kept, 2 * kept, 4 * kept});
  EXPECT_DOUBLE_EQ(middle, 0.5);
  EXPECT_DOUBLE_EQ(worst, 0.75);
}

TEST(RunProfile, WhatWasNotMeasuredPricesNothing) {
  const Scenario scenario = two_stages();
  const auto cost = cost_model(scenario);
  const ExperimentPtr predicted = predict_training(scenario, {}, cost.get());
  Timeline none = predicted->timeline;
  for (Span& span : none.spans) span = {};
  EXPECT_TRUE(run_calibration(*predicted, none, {}, *cost, kHere).kernels.empty());
}

// A real run: what accepting it would do is told before it is done.
TEST(RunProfile, AcceptingIsToldBeforeItIsDone) {
  TrainingRequest request;
  request.scenario = two_stages();
  request.training.steps = 4;
  request.data = "random";
  TrainingJob job(request);
  const TrainingReport report = job.run(false, nullptr);
  const auto cost = cost_model(request.scenario);
  const RunProfile profile = run_profile(report, request.training, *cost, kHere);
  EXPECT_EQ(profile.updates, 4);
  EXPECT_EQ(profile.before, report.predicted->result.step.value);
  EXPECT_EQ(profile.measured, report.step);
  Scenario again = request.scenario;
  const auto own = priced_by(profile.calibration, again);
  EXPECT_EQ(profile.after, predict_training(again, request.training, own.get())->result.step.value);
}

TEST(RunProfile, ItSaysWhichRunItIsOf) {
  RunProfile profile;
  profile.calibration.machine = kHere.name;
  profile.updates = 20;
  const Calibration kept = named_after_run(profile, 12, "gpt-tiny on cpu:4");
  EXPECT_EQ(kept.machine, "a machine, 2 cores, in run 12 of gpt-tiny on cpu:4");
  ASSERT_EQ(kept.notes.size(), 1u);
  EXPECT_EQ(kept.notes[0], "20 updates of gpt-tiny on cpu:4");
  EXPECT_EQ(provenance(MeasuredPrices{named_after_run(profile, {}, "gpt-tiny on cpu:4")}),
            "a machine, 2 cores, in a run of gpt-tiny on cpu:4");
}

}  // namespace
}  // namespace trainyard
