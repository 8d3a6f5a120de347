// Tests that what a run keeps to go back to takes the memory that it was predicted to take. A state
// is kept with names and counts beside its numbers, which are some KiB.
#include "app/workspace/runs/recovery_memory.h"

#include <gtest/gtest.h>

#include "app/workspace/runs/training_run.h"
#include "app/workspace/scenario/workspace.h"
#include "core/training/training.h"

namespace trainyard {
namespace {

using Words = std::vector<std::string>;

constexpr double kNames = 16 * 1024;

TrainingReport keeping_run(const std::string& model, const std::string& cluster,
                           const Words& settings, const Words& training) {
  TrainingRequest request;
  request.scenario = open({model, cluster, "", settings});
  request.training.steps = 3;
  for (const std::string& word : training) apply_training(request.training, word);
  if (model != "dlrm-tiny") request.data = "random";
  return TrainingJob(std::move(request)).run(false, nullptr);
}

void expect_predicted(const TrainingReport& report) {
  const auto kept = static_cast<double>(report.run.kept.value),
             predicted = static_cast<double>(report.kept.value);
  EXPECT_GT(predicted, 0);
  EXPECT_GE(kept, 0.999 * predicted);
  EXPECT_LE(kept, 1.01 * predicted + kNames);
}

TEST(RecoveryMemory, OfStatesIsThatPredictedForEveryWayToDivideThem) {
  const Words batch = {"global-batch=2", "micro-batch=1"};
  for (const Words& more : {Words{},
                            {"optimizer=sgd"},
                            {"precision=bf16"},
                            {"pp=2"},
                            {"tp=2"},
                            {"zero=1"},
                            {"zero=3"},
                            {"pp=2", "schedule=interleaved", "virtual-stages=2"},
                            {"optimizer=adamw-8bit"}}) {
    Words settings = batch;
    settings.insert(settings.end(), more.begin(), more.end());
    SCOPED_TRACE(more.empty() ? "dp=2" : more.front());
    const TrainingReport report =
        keeping_run("gpt-tiny", "cpu:2", settings, {"flip-check=checksums", "recover=2"});
    expect_predicted(report);
  }
}

TEST(RecoveryMemory, IsOfOneStateUntilThereIsASecond) {
  const Words settings = {"global-batch=8"}, flips = {"flip-check=checksums", "recover=4"};
  const TrainingReport one = keeping_run("mlp-small", "cpu:1", settings, flips);
  expect_predicted(one);
  Words longer = flips;
  longer.push_back("steps=5");
  const TrainingReport two = keeping_run("mlp-small", "cpu:1", settings, longer);
  expect_predicted(two);
  EXPECT_EQ(two.kept, one.kept * 2);
  EXPECT_EQ(keeping_run("mlp-small", "cpu:1", settings, {}).kept, Bytes{});
}

TEST(RecoveryMemory, OfShardsIsThatPredictedHoweverRanksFail) {
  for (const char* how : {"plain", "mfu", "full"}) {
    SCOPED_TRACE(how);
    expect_predicted(keeping_run("dlrm-tiny", "cpu:4", {"zero=3", "global-batch=16"},
                                 {std::string("cpr=") + how, "cpr-kill=2:1"}));
  }
}

TEST(RecoveryMemory, OfProcessesHoldsEachRankTwiceAndTwoFootings) {
  CheckpointBytes checkpoint;
  checkpoint.held = Bytes{4000};
  Training training;
  training.recovery.how = ShardSaving::Plain;
  EXPECT_EQ(recovery_memory(checkpoint, training, {}), Bytes{4000});
  EXPECT_EQ(recovery_memory(checkpoint, training, {4, false}), Bytes{2000});
  EXPECT_EQ(recovery_memory(checkpoint, training, {4, true}), Bytes{8000});
}

}  // namespace
}  // namespace trainyard
