// Tests the time of evaluations against simulated forwards, and what they add to a training.
#include "core/estimate/evaluation_time.h"

#include <gtest/gtest.h>

#include "backends/simulator/simulator.h"
#include "core/cost/physical.h"
#include "core/estimate/estimate.h"
#include "core/result/training_cost.h"
#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::gpt;
using testing::scenario;

// When the last forward of a simulated step ends. GPipe does all forwards before any backward.
Duration last_forward(const Workload& w, const CostModel& cost) {
  const Program program = lower(w, {});
  const TaskPrices prices = price(program, w.scenario.plan.mesh, w.scenario.cluster, cost);
  const Timeline timeline = simulate(program, prices);
  Instant last{};
  for (std::size_t i = 0; i < timeline.spans.size(); ++i) {
    const Task& task = program.task(program.instructions[i]);
    if (task.kind == TaskKind::Compute && task.phase == Phase::Forward)
      last = std::max(last, timeline.spans[i].end);
  }
  return last;
}

TEST(EvaluationTime, IsWhenTheLastForwardOfGpipeEnds) {
  for (const testing::Settings& words :
       {testing::Settings{"global-batch=8"}, testing::Settings{"pp=4", "global-batch=16"},
        testing::Settings{"pp=2", "tp=2", "global-batch=12"},
        testing::Settings{"dp=4", "global-batch=32"},
        testing::Settings{"pp=4", "micro-batch=2", "global-batch=32"}}) {
    testing::Settings all = words;
    all.push_back("schedule=gpipe");
    all.push_back("precision=bf16");
    const Workload w = prepare(scenario(gpt(), 4, all));
    const auto cost = physical_cost_model(w.scenario);
    const std::int64_t samples = w.scenario.plan.batch.global / *w.scenario.plan.mesh.dp;
    const double found = to_seconds(forward_time(w, *cost, samples)),
                 simulated = to_seconds(last_forward(w, *cost));
    EXPECT_NEAR(found / simulated, 1, 0.02) << words.front();
  }
}

TEST(EvaluationTime, ReplicasThatShareItTakeAsMuchLessAsTheyAre) {
  const auto cost_of = [](const char* by) {
    const Workload w = prepare(scenario(
        gpt(), 8, {by, "evaluation.samples=8000", "global-batch=64", "evaluation.every=50"}));
    const auto cost = physical_cost_model(w.scenario);
    return *evaluation_cost(w, *cost, estimate(w, *cost).step);
  };
  const EvaluationCost one = cost_of("evaluation=one"), all = cost_of("evaluation=distributed");
  EXPECT_EQ(one.replicas, 1);
  EXPECT_EQ(all.replicas, 8);
  EXPECT_NEAR(to_seconds(one.time.value) / to_seconds(all.time.value), 8, 0.1);
  EXPECT_LE(all.time.low, all.time.value);
  EXPECT_GE(all.time.high, all.time.value);
  const Workload plain = prepare(scenario(gpt(), 8, {}));
  const auto cost = physical_cost_model(plain.scenario);
  EXPECT_FALSE(evaluation_cost(plain, *cost, {}));
}

// 100 steps of 2 s each, with an evaluation of 10 s once in 50: 220 s.
TEST(EvaluationTime, IsAPartOfTheTimeToTrain) {
  Result result;
  result.counts_tokens = false;
  result.samples_per_step = 4;
  result.step = {seconds(2), seconds(1), seconds(3), ""};
  result.energy = Banded<Joules>{{100}, {90}, {110}, ""};
  result.evaluation = EvaluationCost{1000, 50, 1, {seconds(10), seconds(5), seconds(15), ""}};
  const std::vector<PricedPhase> phases = phases_of(result);
  const TrainingCost cost = training_cost(phases, 400);
  EXPECT_DOUBLE_EQ(cost.steps, 100);
  EXPECT_NEAR(cost.seconds.value, 220, 1e-9);
  EXPECT_NEAR(cost.energy->value.value, 11'000, 1e-6);
  EXPECT_EQ(evaluation_sentence(*result.evaluation, result.step.value),
            "evaluating 1000 samples once in 50 steps takes 10.0 s on one replica, 9.1 % of the "
            "time to train");
}

}  // namespace
}  // namespace trainyard
