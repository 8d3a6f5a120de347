// Branches by prices: what a stage costs is what the cost model says of its operators.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "app/workspace/runs/branches/branch_document.h"
#include "app/workspace/runs/branches/branch_study.h"
#include "app/workspace/scenario/prices.h"
#include "core/base/error.h"
#include "core/cluster/processor_core.h"
#include "core/lowering/lower.h"
#include "core/methods/settings/settings.h"
#include "core/model/graph_builder.h"
#include "core/model/zoo/zoo.h"

namespace trainyard {
namespace {

Scenario priced(const Model& model, std::string_view processor = "cpu",
                std::string_view setting = "precision=fp32") {
  Scenario s{model, make_cluster(device(processor), 1), {}};
  for (const std::string_view one :
       {setting, std::string_view("global-batch=1"), std::string_view("micro-batch=1")})
    apply_setting(s.plan, one);
  return s;
}

BranchQuestion by(OperatorPrices prices, int cores) {
  BranchQuestion question;
  question.prices = prices, question.cores = cores;
  return question;
}

// Convolutions of one image, each with so many channels.
Model convolutions(const std::vector<std::int64_t>& channels) {
  GraphBuilder b;
  const TensorId image = b.graph.input =
      b.activation("input", {kBatch, whole(64), whole(8), whole(8)});
  TensorId out;
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const std::string name = "conv" + std::to_string(i);
    const TensorId weight =
        b.parameter(name + ".weight", {whole(channels[i]), whole(64), whole(1), whole(1)});
    const TensorId made = b.node(name, convolution(), {image, weight}, {{"stride", 1}});
    out = i == 0 ? made : b.residual("sum" + std::to_string(i), out, made);
  }
  out = b.node("relu", relu(), {out});
  Model model;
  model.name = "convolutions", model.family = "made";
  model.blocks.push_back(b.block("layer", 1, true, out));
  return model;
}

// Every operator of a layer as the study has it and as the cost model prices its lowered work.
void expect_prices_of(const CostModel& cost, const Scenario& scenario, const BranchStudy& study,
                      const Device& core) {
  const Workload w = prepare(scenario);
  std::size_t next = 0;
  for (const Body& body : w.bodies)
    for (const std::vector<BodyOp>* ops : {&body.forward, &body.backward}) {
      if (ops->size() < 2) continue;
      ASSERT_LT(next, study.passes.size());
      const BranchPass& pass = study.passes[next++];
      const std::vector<OperatorStage>& stages = pass.sequential.schedule.stages;
      ASSERT_EQ(stages.size(), ops->size());
      for (std::size_t i = 0; i < stages.size(); ++i)
        EXPECT_EQ(stages[i].price.time, cost.compute((*ops)[i].work, core))
            << pass.graph.operators[i].name;
    }
  EXPECT_EQ(next, study.passes.size());
}

TEST(BranchPrices, AStageOfOneOperatorCostsWhatTheRooflineSaysOfItsWork) {
  for (const char* processor : {"cpu", "cpu-small"}) {
    const Scenario scenario = priced(zoo_model("inception-tiny"), processor);
    expect_prices_of(*cost_model(scenario), scenario,
                     branch_study(scenario, by(OperatorPrices::Roofline, 4)),
                     core_of(device(processor), 1));
  }
}

// Measured kernels of a machine that is not at hand: each operator's shape has a time of its own.
TEST(BranchPrices, CalibratedStagesCostTheMeasuredKernels) {
  const Scenario scenario = priced(zoo_model("neox-tiny"));
  Calibration calibration;
  calibration.machine = "a machine of 96 cores";
  calibration.copy = {Duration{2000}, {10e9}}, calibration.reduce = {20e9};
  std::int64_t time = 10'000;
  const Workload w = prepare(scenario);
  for (const Body& body : w.bodies)
    for (const std::vector<BodyOp>* ops : {&body.forward, &body.backward})
      for (const BodyOp& op : *ops)
        calibration.kernels.push_back(
            {.work = op.work, .time = Duration{time += 1237}, .spread = 0, .repeats = 5});
  const std::string word = measured_prices_word(calibration);
  const BranchStudy study = branch_study(scenario, by(OperatorPrices::Calibrated, 96), word);
  Scenario own = scenario;
  expect_prices_of(*open_cost_model(word, own), scenario, study, device("cpu"));
  EXPECT_EQ(study.machine, "a machine of 96 cores");
  EXPECT_EQ(study.sharing.cores, 96);
}

// Two convolutions of 16 channels as one are a convolution of 32, in either pass.
TEST(BranchPrices, AMergedOperatorCostsALayerOfItsOwnShape) {
  for (const char* processor : {"cpu", "cpu-generic"}) {
    const BranchStudy apart = branch_study(priced(convolutions({16, 16}), processor),
                                           by(OperatorPrices::Roofline, 2)),
                      wide = branch_study(priced(convolutions({32}), processor),
                                          by(OperatorPrices::Roofline, 2));
    ASSERT_EQ(apart.passes.size(), 2U);
    ASSERT_EQ(wide.passes.size(), 2U);
    for (std::size_t pass = 0; pass < 2; ++pass) {
      const BranchPass &merged = apart.passes[pass], &own = wide.passes[pass];
      ASSERT_FALSE(merged.graph.merges.empty());
      for (std::size_t i = 0; i < merged.graph.merges.size(); ++i) {
        const int first = merged.graph.merges[i].operators.front();
        const Pass part = merged.parts[static_cast<std::size_t>(first)];
        bool found = false;
        for (std::size_t op = 0; op < own.parts.size(); ++op) {
          if (own.parts[op] != part || own.graph.operators[op].name.find("conv0") != 0) continue;
          found = true;
          const OperatorTime &is = merged.times[merged.graph.operators.size() + i],
                             &expected = own.times[op];
          EXPECT_EQ(is.alone, expected.alone);
          EXPECT_EQ(is.beside, expected.beside);
        }
        EXPECT_TRUE(found) << merged.graph.merges[i].name;
      }
    }
  }
}

TEST(BranchPrices, TheBestIsNeverSlowerThanAnyOther) {
  EXPECT_TRUE(rc::check([] {
    const char* const model = *rc::gen::element("inception-tiny", "neox-tiny", "mixtral-tiny");
    const char* const processor = *rc::gen::element("cpu", "cpu-small", "cpu-generic");
    const char* const precision = *rc::gen::element("precision=fp32", "precision=bf16");
    BranchQuestion question = by(OperatorPrices::Roofline, *rc::gen::inRange(1, 17));
    question.strategy = static_cast<StageStrategy>(*rc::gen::inRange(0, 3));
    question.limits.block = *rc::gen::inRange(1, 13);
    question.limits.groups = *rc::gen::inRange(1, 9);
    const Scenario scenario = priced(zoo_model(model), processor, precision);
    const BranchStudy study = branch_study(scenario, question);
    question.cores = 1;
    const BranchStudy one = branch_study(scenario, question);
    RC_ASSERT(!study.passes.empty());
    for (std::size_t i = 0; i < study.passes.size(); ++i) {
      const BranchPass& pass = study.passes[i];
      // The paper's merge strategy has one core, which greedy stages need not have.
      for (const auto& [name, run] : schedules_of(pass))
        if (question.strategy != StageStrategy::Merged || name != "greedy")
          RC_ASSERT(pass.best.schedule.time <= run->schedule.time);
      RC_ASSERT(pass.sequential.schedule.time == one.passes[i].sequential.schedule.time);
      for (const OperatorTime& time : pass.times) RC_ASSERT(time.alone <= time.beside);
    }
  }));
}

// Nothing was run, and no text says otherwise.
TEST(BranchPrices, TheDocumentSaysWhichPricesAndHasNoMeasurement) {
  const BranchStudy study = branch_study(priced(zoo_model("inception-tiny"), "cpu-small"),
                                         by(OperatorPrices::Roofline, 0));
  EXPECT_EQ(study.sharing.cores, 16);
  const std::string text = branch_document(study);
  EXPECT_NE(text.find("\"prices\": \"roofline\""), std::string::npos);
  for (const char* absent : {"measured_seconds", "same_bits", "rounds", "merged_difference"})
    EXPECT_EQ(text.find(absent), std::string::npos) << absent;
  EXPECT_EQ(branch_sentences(study).back().find("Nothing was run here"), 0U);
  EXPECT_EQ(branch_command({"gpt-tiny", "cpu-small:1", "", {}}, by(OperatorPrices::Roofline, 3)),
            "trainyard branches --model gpt-tiny --cluster cpu-small:1 --cores 3 --cost roofline");
  EXPECT_EQ(branch_command({"gpt-tiny", "cpu:1", "", {}, "m.json"}, by(OperatorPrices::Learned, 0)),
            "trainyard branches --model gpt-tiny --calibration m.json --cost learned");
}

std::string refusal(const Scenario& scenario, const BranchQuestion& question,
                    const std::string& calibration) {
  try {
    branch_study(scenario, question, calibration);
  } catch (const Error& error) {
    return error.place().text + ": " + error.what();
  }
  return "nothing was refused";
}

TEST(BranchPrices, RefusesKernelsOfAnotherDevice) {
  Calibration calibration;
  calibration.machine = "a test", calibration.copy = {Duration{2000}, {10e9}};
  calibration.reduce = {20e9};
  Work work;
  work.kernel = kernel_of(matmul(), Pass::Forward), work.flops = {1e6};
  calibration.kernels = {{.work = work, .time = Duration{1000}, .spread = 0, .repeats = 1}};
  EXPECT_EQ(refusal(priced(zoo_model("gpt-tiny"), "cpu-small"), by(OperatorPrices::Calibrated, 2),
                    measured_prices_word(calibration)),
            "--calibration: a calibration is of this machine's own devices, as cpu:1, and the "
            "cluster is cpu-small:1");
  calibration.device = "cpu-small";
  EXPECT_EQ(refusal(priced(zoo_model("gpt-tiny"), "cpu-small"), by(OperatorPrices::Calibrated, 2),
                    measured_prices_word(calibration)),
            "--calibration: expected kernels of one core, as \"trainyard calibrate\" measures them "
            "here, found those of a recorded run of cpu-small");
}

}  // namespace
}  // namespace trainyard
