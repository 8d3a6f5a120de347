// Rules on simulated timelines and on whole runs of the workspace.
#include <gtest/gtest.h>

#include <set>

#include "app/workspace/runs/run_document.h"
#include "app/workspace/runs/training_run.h"
#include "app/workspace/scenario/local_cluster.h"
#include "app/workspace/scenario/workspace.h"
#include "core/io/documents/result_json.h"
#include "core/model/zoo/zoo.h"
#include "core/result/verdict.h"
#include "tests/support/layers.h"

namespace trainyard {
namespace {

Scenario scenario_of(std::string_view name, std::int64_t devices, const testing::Settings& words,
                     std::string_view kind = "h100-sxm") {
  return testing::scenario(zoo_model(name), devices, words, kind);
}

std::set<std::string> rules_of(const Scenario& scenario) {
  std::set<std::string> names;
  const ExperimentPtr experiment = simulate(scenario, {});
  for (const FiredRule& one : experiment->result.rules) {
    EXPECT_GE(one.device, -1);
    EXPECT_FALSE(one.sentence.empty() || one.advice.empty());
    names.insert(one.rule);
  }
  return names;
}

TEST(SimulatedRules, APlanThatKeepsItsDevicesBusyFiresNone) {
  EXPECT_TRUE(rules_of(scenario_of("llama-3-8b", 8, {"tp=8", "global-batch=8"})).empty());
}

TEST(SimulatedRules, AStageOfFewMicrobatchesStandsIdle) {
  const ExperimentPtr e =
      simulate(scenario_of("llama-3-8b", 32, {"tp=8", "pp=4", "global-batch=2"}), {});
  std::set<std::string> names;
  for (const FiredRule& one : e->result.rules) {
    names.insert(one.rule);
    ASSERT_TRUE(one.at.has_value());
    EXPECT_LE(*one.at, makespan(e->timeline));
  }
  EXPECT_EQ(names, std::set<std::string>{"low-gpu-utilization"});
  EXPECT_NE(result_document(e->result).find("low-gpu-utilization"), std::string::npos);
}

TEST(SimulatedRules, AStageOfMostLayersMakesTheOtherWait) {
  EXPECT_TRUE(
      rules_of(scenario_of("llama-3-8b", 16, {"tp=8", "pp=2", "global-batch=32", "split=29,3"}))
          .count("load-balancing"));
}

TEST(SimulatedRules, AStepThatWaitsForItsSamples) {
  EXPECT_TRUE(rules_of(scenario_of("resnet-50", 8,
                                   {"global-batch=2048", "precision=fp16", "input=storage",
                                    "input.cores=1", "input.decoding=100ms"}))
                  .count("io-bottleneck"));
}

TEST(SimulatedRules, AStepThatWaitsForItsHostToUpdateWeights) {
  const auto judged = [](const testing::Settings& words) {
    return rules_of(scenario_of("llama-3-8b", 1, words)).count("cpu-bottleneck");
  };
  EXPECT_EQ(judged({"global-batch=1", "seq=512", "offload=optimizer"}), 1u);
  EXPECT_EQ(judged({"global-batch=64", "micro-batch=1", "offload=optimizer"}), 0u);
  EXPECT_EQ(judged({"global-batch=1", "seq=512"}), 0u);
}

// Small batches of a small part of a model leave a device idle and its memory empty.
TEST(SimulatedRules, AStepThatCouldTakeMoreSamples) {
  const ExperimentPtr e =
      simulate(scenario_of("llama-3-8b", 32, {"tp=8", "pp=4", "global-batch=2"}), {});
  const TimelineFacts facts =
      facts_for_rules(e->result, e->timeline, e->waves,
                      breakdowns(e->timeline, e->program, e->prices.recompute_share));
  EXPECT_EQ(judge_timeline(parse_rules("batch-size"), facts).size(), 1u);
  EXPECT_TRUE(judge_timeline(parse_rules("batch-size.threshold=20"), facts).empty());
}

TEST(SimulatedRules, GradientsThatAreOlderThanTheirBound) {
  EXPECT_TRUE(
      rules_of(scenario_of("llama-3-8b", 32, {"pp=32", "schedule=pipedream", "global-batch=64"}))
          .count("staleness"));
}

TrainingRequest request_of(std::int64_t steps, std::string_view rules) {
  TrainingRequest request;
  request.scenario = testing::scenario(
      zoo_model("mlp-small"), 1, {"precision=fp32", "global-batch=64", "optimizer=sgd"}, "cpu");
  request.scenario.cluster = local_cluster(1, {});
  request.training.steps = steps;
  request.training.rate = 1e-9;
  request.data = "random";
  request.rules = RuleWatch{parse_rules(rules), 10, false};
  return request;
}

TEST(WatchedRuns, AReportHasWhatFiredWhereAndWhatWasLeftOut) {
  TrainingJob job(request_of(40, "loss-not-decreasing,unchanged-tensor,overfit"));
  const TrainingReport report = job.run(false, nullptr);
  ASSERT_TRUE(report.rules.has_value());
  std::set<std::string> names;
  for (const FiredRule& one : report.rules->fired) names.insert(one.rule);
  EXPECT_EQ(names, (std::set<std::string>{"loss-not-decreasing", "unchanged-tensor"}));
  ASSERT_EQ(report.rules->left_out.size(), 1u);
  EXPECT_EQ(sentence(report.rules->left_out[0]),
            "overfit: the plan does not evaluate; --set evaluation=one makes it");
  ASSERT_NE(report.measured, nullptr);
  EXPECT_EQ(report.measured->result.rules, report.rules->fired);
  EXPECT_NE(run_document(report).find("\"rule\": \"unchanged-tensor\""), std::string::npos);
}

TEST(WatchedRuns, AStopCountsTheStepsThatItSaved) {
  TrainingRequest request = request_of(400, "unchanged-tensor");
  request.rules->stops = true;
  TrainingJob job(std::move(request));
  const TrainingReport report = job.run(false, nullptr);
  ASSERT_TRUE(report.rules.has_value());
  EXPECT_EQ(report.rules->stopped_at, 10);
  EXPECT_EQ(report.rules->saved_steps, 390);
  EXPECT_EQ(report.rules->saved, report.step * 390);
  EXPECT_TRUE(report.run.stopped);
}

TEST(WatchedRuns, WithoutRulesNoneAreInTheMeasuredResult) {
  TrainingRequest request = request_of(2, "all");
  request.rules.reset();
  TrainingJob job(std::move(request));
  const TrainingReport report = job.run(false, nullptr);
  EXPECT_FALSE(report.rules.has_value());
  EXPECT_TRUE(report.measured->result.rules.empty());
}

// A forecast that a device a thousand times as fast would keep is no forecast of this machine.
TEST(WatchedRuns, APlanThatDrifts) {
  TrainingRequest request = request_of(3, "plan-drift");
  request.scenario.cluster.device.peaks[0].rate.value.value *= 1e3;
  for (Peak& peak : request.scenario.cluster.device.peaks) peak.rate.value.value *= 1e3;
  request.scenario.cluster.device.memory_bandwidth.value.value *= 1e3;
  TrainingJob job(std::move(request));
  const TrainingReport report = job.run(false, nullptr);
  ASSERT_EQ(report.rules->fired.size(), 1u);
  EXPECT_EQ(report.rules->fired[0].rule, "plan-drift");
}

}  // namespace
}  // namespace trainyard
