// Tests that a run starts from the weights of another: whatever the plans of both, to the bit, and
// with a report of what the other one did not have.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "app/workspace/runs/training_run.h"
#include "app/workspace/scenario/workspace.h"
#include "core/training/checkpoint.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

using Names = std::vector<std::string>;

struct Started {
  TrainingReport report;
  std::vector<TrainedTensor> parameters;
};

struct StartedRun {
  std::string model = "gpt-tiny", cluster = "cpu:1";
  Names settings = {};
  std::string checkpoint = {}, from = {}, backend = "cpu";
  double rate = 0.1;
  std::int64_t steps = 2;
  std::uint64_t seed = 1;
  bool resume = false;
};

Started train_started(const StartedRun& run) {
  TrainingRequest request;
  Names settings = {"global-batch=8", "micro-batch=1", "precision=fp32", "optimizer=momentum"};
  settings.insert(settings.end(), run.settings.begin(), run.settings.end());
  request.scenario = open({run.model, run.cluster, "", settings});
  request.training.steps = run.steps, request.training.seed = run.seed;
  request.training.rate = run.rate;
  request.data = "random";
  request.backend = run.backend;
  request.options.checkpoint = run.checkpoint;
  request.options.resume = run.resume;
  request.start_from = run.from;
  TrainingJob job(std::move(request));
  Started started;
  started.report = job.run(false, nullptr);
  started.parameters = job.parameters();
  return started;
}

// So small that an update changes no weight.
constexpr double kStill = 1e-37;

std::string temporary(const std::string& name) { return ::testing::TempDir() + name; }

// Expects every tensor of `of` among those of the run, with the same bits.
void expect_weights(const std::vector<TrainedTensor>& run, const std::vector<TrainedTensor>& of) {
  for (const TrainedTensor& t : testing::non_empty(of)) {
    const auto found = std::find_if(run.begin(), run.end(), [&](const TrainedTensor& r) {
      return r.layer == t.layer && r.name == t.name;
    });
    ASSERT_TRUE(found != run.end()) << t.layer << " " << t.name;
    EXPECT_EQ(found->values, t.values) << t.layer << " " << t.name;
  }
}

TEST(StartFrom, TheWeightsOfAnyOtherPlanAreTakenToTheBit) {
  const std::string file = temporary("start_from_plan.checkpoint");
  const Started one = train_started({.checkpoint = file});
  const std::pair<const char*, Names> plans[] = {{"cpu:2", {"pp=2", "schedule=1f1b"}},
                                                 {"cpu:4", {"zero=3"}},
                                                 {"cpu:2", {"tp=2"}},
                                                 {"cpu:4", {"pp=2", "zero=1"}},
                                                 {"cpu:2", {"cp=2"}},
                                                 {"cpu:2", {"zero=1", "offload=optimizer"}}};
  const std::string other = temporary("start_from_other.checkpoint");
  for (const auto& [cluster, settings] : testing::non_empty(plans)) {
    SCOPED_TRACE(std::string(cluster) + " " + settings.front());
    const Started run = train_started({.cluster = cluster,
                                       .settings = settings,
                                       .checkpoint = other,
                                       .from = file,
                                       .rate = kStill,
                                       .seed = 2});
    expect_weights(run.parameters, one.parameters);
    ASSERT_TRUE(run.report.started_from);
    EXPECT_EQ(run.report.started_from->fresh, Names{});
    EXPECT_EQ(run.report.started_from->reshaped, Names{});
    EXPECT_EQ(run.report.started_from->unused, Names{});
    EXPECT_EQ(run.report.run.first_step, 0);
    EXPECT_EQ(run.report.run.losses.size(), 2u);
    // And back to one device from that plan.
    const Started back = train_started({.from = other, .rate = kStill, .seed = 3});
    expect_weights(back.parameters, one.parameters);
    EXPECT_EQ(back.report.started_from->unused, Names{});
  }
  std::filesystem::remove(file), std::filesystem::remove(other);
}

// In 16 bits numbers of a pattern have other digits, and so another shape. A pattern that began
// anew would have values stand at places that are not theirs. There and back, patterns are the same
// to the bit, and values are those that 16 bits have.
TEST(StartFrom, SparseWeightsStayInTheirPlacesInAnotherFormat) {
  const std::string wide_file = temporary("start_from_sparse.checkpoint"),
                    narrow_file = temporary("start_from_sparse_bf16.checkpoint");
  const Names sparse = {"sparsity=0.75"}, narrow = {"sparsity=0.75", "precision=bf16"};
  const Started wide = train_started({.settings = sparse, .checkpoint = wide_file, .steps = 1});
  const Started half = train_started({.settings = narrow,
                                      .checkpoint = narrow_file,
                                      .from = wide_file,
                                      .rate = kStill,
                                      .steps = 1,
                                      .seed = 2});
  EXPECT_EQ(half.report.started_from->reshaped, Names{});
  EXPECT_EQ(half.report.started_from->fresh, Names{});
  const Started back = train_started(
      {.settings = sparse, .from = narrow_file, .rate = kStill, .steps = 1, .seed = 3});
  ASSERT_EQ(back.parameters.size(), wide.parameters.size());
  int patterns = 0;
  for (std::size_t i = 0; i < testing::non_empty(wide.parameters).size(); ++i) {
    const TrainedTensor &before = wide.parameters[i], &after = back.parameters[i];
    SCOPED_TRACE(before.name);
    ASSERT_EQ(before.name, after.name);
    if (before.name.ends_with(".pattern")) {
      ++patterns;
      EXPECT_EQ(before.values, after.values);
      continue;
    }
    ASSERT_EQ(before.values.size(), after.values.size());
    for (std::size_t e = 0; e < before.values.size(); ++e)
      ASSERT_NEAR(before.values[e], after.values[e], std::abs(before.values[e]) / 256) << e;
  }
  EXPECT_GT(patterns, 4);
  std::filesystem::remove(wide_file), std::filesystem::remove(narrow_file);
}

TEST(StartFrom, AdaptersBeginAnewAndAreLeftOutAgain) {
  const std::string file = temporary("start_from_plain.checkpoint"),
                    adapted = temporary("start_from_adapted.checkpoint");
  const Started plain = train_started({.checkpoint = file});
  const Started lora = train_started({.settings = {"lora=2", "lora.targets=attention"},
                                      .checkpoint = adapted,
                                      .from = file,
                                      .seed = 2});
  expect_weights(lora.parameters, plain.parameters);
  const Names& fresh = testing::non_empty(lora.report.started_from->fresh);
  for (const std::string& name : fresh) EXPECT_NE(name.find(".lora_"), std::string::npos) << name;
  EXPECT_EQ(lora.report.started_from->taken, static_cast<std::int64_t>(plain.parameters.size()));
  const Started again = train_started({.from = adapted, .rate = kStill, .seed = 3});
  expect_weights(again.parameters, plain.parameters);
  EXPECT_EQ(again.report.started_from->unused.size(), fresh.size());
  std::filesystem::remove(file), std::filesystem::remove(adapted);
}

TEST(StartFrom, WhatHasAnotherShapeIsNamed) {
  const std::string file = temporary("start_from_shape.checkpoint");
  const std::string sizes = "transformer:layers=2,hidden=16,heads=2,kv-heads=2,vocab=32,seq=8,ffn=";
  train_started({.model = sizes + "24", .checkpoint = file});
  const Started wide = train_started({.model = sizes + "40", .from = file});
  ASSERT_TRUE(wide.report.started_from);
  EXPECT_EQ(wide.report.started_from->reshaped,
            (Names{"layers gate_proj.weight", "layers up_proj.weight", "layers down_proj.weight"}));
  EXPECT_EQ(wide.report.started_from->fresh, Names{});
  EXPECT_EQ(wide.report.started_from->unused, Names{});
  EXPECT_EQ(wide.report.started_from->taken,
            static_cast<std::int64_t>(wide.parameters.size()) - 3 * 2);
  std::filesystem::remove(file);
}

TEST(StartFrom, ARunThatGoesOnKeepsItsOwnWeights) {
  const std::string file = temporary("start_from_first.checkpoint"),
                    own = temporary("start_from_own.checkpoint");
  train_started({.checkpoint = file});
  const Started first = train_started({.checkpoint = own, .from = file, .seed = 2});
  const Started rest =
      train_started({.checkpoint = own, .from = file, .steps = 4, .seed = 2, .resume = true});
  EXPECT_FALSE(rest.report.started_from);
  EXPECT_EQ(rest.report.run.first_step, 2);
  const Started whole = train_started({.from = file, .steps = 4, .seed = 2});
  EXPECT_EQ(rest.report.run.losses, whole.report.run.losses);
  expect_weights(rest.parameters, whole.parameters);
  std::filesystem::remove(file), std::filesystem::remove(own);
}

TEST(StartFrom, WhatHasNoWeightsOfTheModelIsRefused) {
  const std::string file = temporary("start_from_refused.checkpoint");
  train_started({.checkpoint = file});
  EXPECT_EQ(testing::refusal([&] { train_started({.model = "cartpole-q", .from = file}); })
                .find(file + ": expected a checkpoint with weights of cartpole-q, found one of "
                             "gpt-tiny on "),
            0u);
  Checkpoint older = load_checkpoint(file);
  std::erase_if(older.parts,
                [](const CheckpointPart& part) { return part.name.starts_with("whole weights"); });
  save(older, file);
  EXPECT_EQ(testing::refusal([&] { train_started({.from = file}); }),
            file +
                ": expected a checkpoint that has weights by name, found one of a version that "
                "has them by device alone; going on from it with --resume writes them");
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace trainyard
