#include "app/workspace/runs/branches/branch_study.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "app/workspace/runs/branches/branch_chart.h"
#include "backends/cpu/calibration/concurrent_layer.h"
#include "core/base/error.h"
#include "core/lowering/lower.h"
#include "core/methods/layers/layer_operators.h"
#include "core/methods/layers/weight_pass.h"
#include "core/methods/settings/settings.h"
#include "core/model/trained_parts.h"
#include "core/model/zoo/zoo.h"
#include "tests/support/cases.h"

namespace trainyard {
namespace {

using Settings = std::vector<std::string_view>;

Scenario scenario(const std::string& model, const Settings& settings, int devices = 1) {
  Scenario s{zoo_model(model), make_cluster(device("cpu"), devices), {}};
  for (const std::string_view one : settings) apply_setting(s.plan, one);
  return s;
}

// Greedy stages use all that is independent at once: whatever of two operators that share a tensor
// is missing among the dependences then changes bits.
TEST(BranchStudy, OperatorsBesideEachOtherLeaveTheBitsOfOneAfterAnother) {
  const std::pair<const char*, const char*> plans[] = {
      {"inception-tiny", ""},  {"inception-tiny", "recompute=full"},
      {"lstm-tiny", ""},       {"gpt-tiny", "recompute=selective"},
      {"gpt-tiny", "lora=4"},  {"mixtral-tiny", ""},
      {"transformer-tiny", ""}};
  for (const auto& [model, more] : testing::sampled(plans, 4)) {
    Settings settings{"precision=fp32", "global-batch=2", "micro-batch=2"};
    if (*more != '\0') settings.push_back(more);
    const Workload w = prepare(scenario(model, settings));
    for (std::size_t body = 0; body < w.bodies.size(); ++body)
      for (const bool backward : {false, true}) {
        const Body& layer = w.bodies[body];
        const Graph& graph = w.scenario.model.blocks[static_cast<std::size_t>(layer.block)].graph;
        const OperatorGraph operators = layer_operators(
            graph, layer, backward ? layer.backward : layer.forward, weight_pass_reads_gradient);
        if (operators.operators.size() < 2) continue;
        const std::vector<OperatorTime> equal(operators.operators.size(),
                                              {Duration{1}, Duration{1}});
        const OperatorSchedule greedy =
            greedy_stages(operators, [](const OperatorGroups&) { return StagePrice{Duration{1}}; });
        std::vector<OpsOfCores> beside, alone{{{}}};
        for (const OperatorStage& stage : greedy.stages)
          beside.push_back(deal(stage.groups, equal, 2));
        for (int one = 0; one < static_cast<int>(operators.operators.size()); ++one)
          alone[0][0].push_back(one);
        ConcurrentLayer first(w, body, backward, 2), second(w, body, backward, 2);
        const std::uint64_t before = first.digest();
        first.run(alone), second.run(beside);
        EXPECT_EQ(first.digest(), second.digest())
            << model << " " << more << " " << graph.nodes.front().name << backward;
        // Gradients of weights are added up, so that a run is seen.
        const bool adds =
            backward && trains(w.scenario.model.blocks[static_cast<std::size_t>(layer.block)]);
        EXPECT_EQ(adds, adds && first.digest() != before) << model;
      }
  }
}

TEST(BranchStudy, HasEachPassOfEachKindOfLayer) {
  std::vector<double> shares;
  BranchQuestion question;
  question.cores = 1, question.rounds = 1, question.strategy = StageStrategy::Concurrent;
  question.progress = [&](double share) { shares.push_back(share); };
  const BranchStudy study = branch_study(
      scenario("inception-tiny", Settings{"precision=fp32", "global-batch=1", "micro-batch=1"}),
      question);
  ASSERT_EQ(study.passes.size(), 6U);
  EXPECT_EQ(study.passes[2].block, "mixed");
  EXPECT_EQ(study.passes[2].layers, 3);
  EXPECT_TRUE(study.passes[3].backward);
  EXPECT_EQ(study.sharing.join, Duration{});
  for (const BranchPass& pass : study.passes) {
    EXPECT_TRUE(pass.same_bits);
    EXPECT_GT(pass.sequential.measured, Duration{});
    // One core gains nothing from any order.
    EXPECT_EQ(pass.best.schedule.time, pass.sequential.schedule.time);
    EXPECT_EQ(pass.times.size(), pass.graph.operators.size());
    EXPECT_EQ(pass.merged_difference, 0);
    EXPECT_EQ(pass.handover, 0) << "one core hands nothing over";
  }
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_EQ(shares.back(), 1);
  EXPECT_EQ(branch_sentences(study).back(), "All schedules leave the same numbers, bit for bit.");
}

// Every price of both strategies is at most that of either, whatever was measured.
TEST(BranchStudy, BothStrategiesAreNeverPredictedSlowerThanEither) {
  for (const char* model : {"inception-tiny", "mixtral-tiny"}) {
    const BranchStudy study =
        branch_study(scenario(model, Settings{"precision=fp32", "global-batch=1", "micro-batch=1"}),
                     {.cores = 0, .rounds = 2, .limits = {.block = 12}});
    int merging = 0;
    for (const BranchPass& pass : study.passes) {
      EXPECT_EQ(pass.times.size(), pass.graph.operators.size() + pass.graph.merges.size());
      EXPECT_TRUE(pass.same_bits);
      EXPECT_LT(pass.merged_difference, kMostMergedDifference);
      for (const auto& [name, run] : schedules_of(pass)) {
        EXPECT_LE(pass.best.schedule.time, run->schedule.time) << name;
        for (const OperatorStage& stage : run->schedule.stages)
          EXPECT_LE(stage.as_run().size(), static_cast<std::size_t>(study.sharing.cores)) << name;
      }
      EXPECT_EQ(pass.merged.schedule.stages.empty(), pass.graph.merges.empty());
      if (pass.graph.merges.empty()) continue;
      ++merging;
      EXPECT_FALSE(merges_operators(pass, pass.concurrent));
      EXPECT_GT(pass.merged.measured, Duration{});
      // A product of as much work; a merged convolution of unlike kernels has more.
      for (std::size_t i = 0; i < pass.graph.merges.size(); ++i)
        EXPECT_EQ(pass.works[i].flops, pass.apart[i]) << pass.graph.merges[i].name;
    }
    EXPECT_EQ(merging, 2) << "forward and backward of one kind of layer";
  }
}

// A merge that is forced shows what numbers it leaves and that zeros around kernels are counted.
TEST(BranchStudy, MergedShortcutsPayForTheZerosAroundThem) {
  const BranchStudy study = branch_study(
      scenario("resnet-20", Settings{"precision=fp32", "global-batch=1", "micro-batch=1"}),
      {.cores = 1, .rounds = 1, .strategy = StageStrategy::Merged});
  for (const BranchPass& pass : study.passes) {
    if (pass.block != "layer2.first" || pass.backward) continue;
    ASSERT_EQ(pass.graph.merges.size(), 1U);
    EXPECT_EQ(pass.graph.merges[0].name, "conv1 + downsample.conv");
    // 32 kernels of 3 x 3 and 32 of 1 x 1 become 64 of 3 x 3.
    EXPECT_DOUBLE_EQ(pass.works[0].flops / pass.apart[0], 64.0 * 9 / (32 * 9 + 32));
    return;
  }
  FAIL() << "the layer is not there";
}

TEST(BranchStudy, OtherFormatsMergeNothingAndSayWhy) {
  const BranchStudy study = branch_study(
      scenario("inception-tiny", Settings{"precision=bf16", "global-batch=1", "micro-batch=1"}),
      {.cores = 1, .rounds = 1});
  for (const BranchPass& pass : study.passes) EXPECT_TRUE(pass.graph.merges.empty());
  const std::vector<std::string> sentences = branch_sentences(study);
  EXPECT_EQ(
      std::count(sentences.begin(), sentences.end(),
                 "Operators are merged in 4-byte floats alone, and tensors of this plan are "
                 "in another format, so that none is merged; --set precision=fp32 has them in "
                 "4-byte floats."),
      1);
}

// The operators that a box of the picture runs.
std::vector<int> run_by(const StagesModel& model, const StagedOperator& op) {
  const std::vector<int>& parts = model.operators[static_cast<std::size_t>(op.op)].parts;
  return parts.empty() ? std::vector<int>{op.op} : parts;
}

// The picture's operators are those of the schedules, and each ends where its price says.
TEST(BranchStudy, ItsPictureHasEveryOperatorOfEverySchedule) {
  const BranchStudy study = branch_study(
      scenario("inception-tiny", Settings{"precision=fp32", "global-batch=1", "micro-batch=1"}),
      {.cores = 0, .rounds = 1, .limits = {.block = 12}});
  for (const BranchPass& pass : study.passes) {
    const StagesModel model = stages_model(study, pass);
    ASSERT_EQ(model.schedules.size(), pass.graph.merges.empty() ? 3U : 5U);
    const std::size_t operators = pass.graph.operators.size();
    for (const StagedSchedule& schedule : model.schedules) {
      std::vector<const StagedOperator*> box(operators, nullptr);  // by operator
      for (const StagedOperator& op : schedule.operators)
        for (const int one : run_by(model, op)) {
          EXPECT_EQ(box[static_cast<std::size_t>(one)], nullptr) << schedule.name;
          box[static_cast<std::size_t>(one)] = &op;
        }
      EXPECT_EQ(std::count(box.begin(), box.end(), nullptr), 0) << schedule.name;
      EXPECT_EQ(schedule.ends.back(), schedule.predicted) << schedule.name;
      EXPECT_EQ(schedule.ends.size(), static_cast<std::size_t>(schedule.stages));
      for (std::size_t one = 0; one < operators; ++one)
        for (const int before : pass.graph.operators[one].after) {
          const StagedOperator* earlier = box[static_cast<std::size_t>(before)];
          EXPECT_TRUE(earlier == box[one] || earlier->end <= box[one]->start) << schedule.name;
        }
    }
    for (std::size_t i = 0; i < model.operators.size(); ++i)
      EXPECT_EQ(model.operators[i].pass == Pass::Forward, !pass.backward);
  }
  EXPECT_EQ(branch_table(study).rows, study.passes.size());
}

TEST(BranchStudy, ItsCommandHasWhatIsNotAsUsual) {
  BranchQuestion question;
  EXPECT_EQ(branch_command({"my model.json", "cpu:1", "", {"micro-batch=1"}}, question),
            "trainyard branches --model 'my model.json' --set micro-batch=1");
  question.cores = 2, question.limits.groups = 3;
  EXPECT_EQ(branch_command({"gpt-tiny", "cpu:1", "", {}}, question),
            "trainyard branches --model gpt-tiny --cores 2 --groups 3");
  question.strategy = StageStrategy::Merged;
  EXPECT_EQ(branch_command({"gpt-tiny", "cpu:1", "", {}}, question),
            "trainyard branches --model gpt-tiny --cores 2 --groups 3 --strategy merged");
}

// Each pass counts with the quickest of its schedules, and one whose stages lose is named.
TEST(BranchStudy, SaysWhereStagesLose) {
  const auto measured = [](int sequential, int greedy, int best) {
    BranchPass pass{"stem", 2, true, {}, {}, {}, {}, {}, {}, true};
    pass.sequential.measured = std::chrono::microseconds{sequential};
    pass.greedy.measured = std::chrono::microseconds{greedy};
    pass.best.measured = std::chrono::microseconds{best};
    for (RunSchedule* run : {&pass.sequential, &pass.greedy, &pass.best})
      run->schedule.stages.resize(3);
    return pass;
  };
  BranchStudy study;
  study.strategy = StageStrategy::Concurrent;
  study.passes = {measured(200, 120, 100), measured(60, 90, 80)};
  study.passes[0].block = "mixed", study.passes[0].backward = false;
  EXPECT_EQ(
      branch_sentences(study),
      (std::vector<std::string>{
          "The forward of mixed gains most: 2.00 times as fast in 3 stages as one operator "
          "after another.",
          "All layers of a microbatch take 520 us one operator after another and 320 us where "
          "each pass runs as it is quickest, 1.62 times as fast.",
          "Best by prediction and yet slower than one operator after another: the stages of "
          "the backward of stem. Either its operators are too short to be handed to other cores, "
          "or something else kept these busy.",
          "All schedules leave the same numbers, bit for bit."}));
  study.passes.pop_back();
  EXPECT_EQ(branch_sentences(study).size(), 3U);
}

TEST(BranchStudy, SaysWhatMergingGains) {
  BranchPass pass{"mixed", 1, false, {}, {}, {}, {}, {}, {}, true};
  pass.graph.operators = {{"a", {}}, {"b", {}}};
  pass.graph.merges = {{"a + b", {0, 1}}};
  for (RunSchedule* run : {&pass.sequential, &pass.greedy, &pass.concurrent, &pass.merged})
    run->schedule.stages.resize(1), run->measured = std::chrono::microseconds{30};
  pass.best.schedule.stages = {{{{0}, {1}}, {Duration{20}, {{2}}}}};
  pass.best.measured = std::chrono::microseconds{20};
  pass.merged_difference = 2e-7;
  BranchStudy study;
  study.passes = {pass};
  const std::vector<std::string> sentences = branch_sentences(study);
  ASSERT_EQ(sentences.size(), 5U);
  EXPECT_EQ(sentences[2],
            "Merged operators gain most in the forward of mixed: 1.50 times as fast as the best "
            "stages that merge nothing.");
  EXPECT_EQ(sentences[3], "All schedules that merge nothing leave the same numbers, bit for bit.");
  EXPECT_EQ(sentences[4],
            "Merged operators sum in another order: their numbers are within 2e-07 of these, of "
            "the largest of each tensor.");
  study.passes[0].merged_difference = 0.5;
  EXPECT_EQ(branch_sentences(study).back(),
            "Merged operators leave numbers that are 0.5 off, of the largest of a tensor, which is "
            "an error of this program.");
  study.passes[0].best = pass.concurrent, study.passes[0].merged_difference = 0;
  EXPECT_EQ(branch_sentences(study)[2],
            "No stages have merged operators: none of one input are alike, or they take less "
            "apart.");
}

std::string refusal(const Scenario& s, const BranchQuestion& question = {}) {
  try {
    branch_study(s, question);
  } catch (const Error& error) {
    return error.place().text + ": " + error.what();
  }
  return "nothing was refused";
}

TEST(BranchStudy, RefusesWhatItCannotRun) {
  EXPECT_EQ(refusal(scenario("gpt-tiny", Settings{"global-batch=2", "precision=fp32"}, 2)),
            "--cluster: expected one device, cpu:1, whose layers nothing divides, found cpu:2");
  std::stop_source stop;
  stop.request_stop();
  BranchQuestion stopped;
  stopped.rounds = 1000, stopped.stop = stop.get_token();
  EXPECT_EQ(refusal(scenario("gpt-tiny", Settings{"precision=fp32"}), stopped),
            ": stopped before all operators were measured");
}

}  // namespace
}  // namespace trainyard
