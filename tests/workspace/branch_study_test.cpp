#include "app/workspace/runs/branch_study.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "app/workspace/runs/branch_chart.h"
#include "backends/cpu/calibration/concurrent_layer.h"
#include "backends/cpu/kernels/weight_pass.h"
#include "core/base/error.h"
#include "core/lowering/lower.h"
#include "core/methods/settings/settings.h"
#include "core/model/trained_parts.h"
#include "core/model/zoo/zoo.h"
#include "planners/branches/layer_operators.h"
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
  question.cores = 1, question.rounds = 1;
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
  }
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_EQ(shares.back(), 1);
  EXPECT_EQ(branch_sentences(study).back(), "All schedules leave the same numbers, bit for bit.");
}

// The picture's operators are those of the schedules, and each ends where its price says.
TEST(BranchStudy, ItsPictureHasEveryOperatorOfEverySchedule) {
  const BranchStudy study = branch_study(
      scenario("inception-tiny", Settings{"precision=fp32", "global-batch=1", "micro-batch=1"}),
      {.cores = 0, .rounds = 1});
  for (const BranchPass& pass : study.passes) {
    const StagesModel model = stages_model(study, pass);
    ASSERT_EQ(model.schedules.size(), 3U);
    EXPECT_EQ(stages_table(model).rows, 3 * pass.graph.operators.size());
    for (const StagedSchedule& schedule : model.schedules) {
      EXPECT_EQ(schedule.operators.size(), pass.graph.operators.size()) << schedule.name;
      EXPECT_EQ(schedule.ends.back(), schedule.predicted) << schedule.name;
      EXPECT_EQ(schedule.ends.size(), static_cast<std::size_t>(schedule.stages));
      for (const StagedOperator& op : schedule.operators)
        for (const int before : pass.graph.operators[static_cast<std::size_t>(op.op)].after) {
          const auto other =
              std::find_if(schedule.operators.begin(), schedule.operators.end(),
                           [&](const StagedOperator& each) { return each.op == before; });
          EXPECT_LE(other->end, op.start) << schedule.name;
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
}

// Each pass counts with the quickest of its schedules, and one whose stages lose is named.
TEST(BranchStudy, SaysWhereStagesLose) {
  const auto measured = [](int sequential, int greedy, int best) {
    BranchPass pass{"stem", 2, true, {}, {}, {}, {}, {}, {}, true};
    pass.sequential.measured = std::chrono::microseconds{sequential};
    pass.greedy.measured = std::chrono::microseconds{greedy};
    pass.best.measured = std::chrono::microseconds{best};
    pass.best.schedule.stages.resize(3);
    return pass;
  };
  BranchStudy study;
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
