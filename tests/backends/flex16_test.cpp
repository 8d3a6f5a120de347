// Products of 16-bit integers that share an exponent: they train as fp32 does, within the memory
// that their program states, alike on one device and on several, and use their mantissas as bar
// B-NUM-03 asks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/execution/evaluation.h"
#include "backends/cpu/execution/numbers/operand_scales.h"
#include "backends/reference/reference_machine.h"
#include "core/model/graph_builder.h"
#include "core/model/ops.h"
#include "core/timeline/metrics.h"
#include "core/training/data/data_sources.h"
#include "tests/support/cpu_training.h"
#include "tests/support/layers.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::CpuRun;
using testing::Settings;

constexpr testing::GptSizes kFlexGpt{
    .layers = 2, .hidden = 32, .heads = 2, .sequence = 8, .vocab = 64};

Training flex_training(std::int64_t steps = 6) {
  Training training;
  training.rate = 0.01;
  training.steps = steps;
  return training;
}

CpuRun train_flex(const Settings& words, std::int64_t devices = 1,
                  const Model& model = testing::gpt(kFlexGpt), const CpuOptions& options = {},
                  const Training& training = flex_training()) {
  Settings all = {"precision=flex16", "optimizer=adamw", "global-batch=8", "micro-batch=2"};
  all.insert(all.end(), words.begin(), words.end());
  return testing::train_on_cpu(model, devices, all, training, options);
}

double most_flex_held(const MemoryWave& wave) {
  return static_cast<double>(total(wave.samples[wave.peak].bytes).value);
}

void expect_stated_memory(const CpuRun& run) {
  const MemoryWave predicted = memory_wave(run.run.timeline, run.program, DeviceId{0});
  EXPECT_EQ(most_flex_held(run.run.waves[0]), most_flex_held(predicted));
}

void expect_flex_losses(const CpuRun& run, const CpuRun& wanted, double share) {
  ASSERT_EQ(run.run.losses.size(), wanted.run.losses.size());
  for (std::size_t i = 0; i < wanted.run.losses.size(); ++i)
    EXPECT_NEAR(run.run.losses[i], wanted.run.losses[i], share * wanted.run.losses[i])
        << "step " << i;
}

// 15 bits of mantissa round more than 24 and much less than the 8 of bf16.
TEST(Flex16Training, TrainsAsFp32DoesAndNotAlike) {
  const CpuRun wide = train_flex({"precision=fp32"}), flex = train_flex({});
  expect_flex_losses(flex, wide, 2e-3);
  EXPECT_NE(flex.run.losses, wide.run.losses);
  EXPECT_EQ(train_flex({}).run.losses, flex.run.losses);
}

TEST(Flex16Training, HoldsWhatItsProgramStates) {
  for (const char* recompute : {"recompute=none", "recompute=selective", "recompute=full"}) {
    SCOPED_TRACE(recompute);
    expect_stated_memory(train_flex({recompute}));
  }
  expect_stated_memory(
      train_flex({}, 1, testing::tiny_transformer({.family = "mixtral", .experts = 4})));
}

// The ranks agree on a maximum once a step, so that no plan changes an exponent. What a rank of
// tensor parallel has of an activation chooses the exponent of the first step alone.
TEST(Flex16Training, APlanTrainsAsOneDeviceDoes) {
  const CpuRun one = train_flex({});
  for (const Settings& words : {Settings{"pp=2"},
                                {"dp=2"},
                                {"dp=2", "zero=1"},
                                {"dp=2", "zero=3"},
                                {"recompute=full"},
                                {"pp=2", "schedule=zb-h1"}}) {
    SCOPED_TRACE(words.back());
    const CpuRun run = train_flex(words, words[0] == "recompute=full" ? 1 : 2);
    expect_flex_losses(run, one, 1e-5);
    expect_stated_memory(run);
  }
  for (const Settings& words : {Settings{"tp=2", "sequence-parallel=off"}, {"tp=2"}}) {
    SCOPED_TRACE(words.back());
    const CpuRun run = train_flex(words, 2);
    expect_flex_losses(run, one, 1e-3);
    expect_stated_memory(run);
  }
}

TEST(Flex16Training, ExpertsTrainAsOneDeviceDoes) {
  const Model model = testing::tiny_transformer({.family = "mixtral", .experts = 4});
  const CpuRun one = train_flex({}, 1, model);
  for (const Settings& words : {Settings{"dp=2"}, {"pp=2"}, {"ep=2", "dp=2"}, {"recompute=full"}}) {
    SCOPED_TRACE(words[0]);
    expect_flex_losses(train_flex(words, words[0] == "recompute=full" ? 1 : 2, model), one, 1e-3);
  }
}

TEST(Flex16Training, ConvolutionsTrainAsInFp32AndAreHeldAsStated) {
  const Model model = testing::tiny_convnet(2);
  const CpuRun flex = train_flex({}, 1, model);
  expect_stated_memory(flex);
  expect_flex_losses(flex, train_flex({"precision=fp32"}, 1, model), 5e-3);
  expect_flex_losses(train_flex({"pp=2"}, 2, model), flex, 1e-5);
}

// Autoflex looks back on steps from before the checkpoint.
TEST(Flex16Training, ARunThatIsResumedGoesOnWithTheSameBits) {
  CpuOptions options;
  options.checkpoint = ::testing::TempDir() + "flex16.checkpoint";
  std::remove(options.checkpoint.c_str());
  const Model model = testing::gpt(kFlexGpt);
  train_flex({}, 1, model, options, flex_training(3));
  options.resume = true;
  const CpuRun resumed = train_flex({}, 1, model, options);
  EXPECT_EQ(resumed.run.first_step, 3);
  EXPECT_EQ(resumed.run.losses, train_flex({}).run.losses);
  std::remove(options.checkpoint.c_str());
}

TEST(OperandScales, PredictExponentsByAutoflex) {
  OperandScales scales(2, OperandScales::Rule::Autoflex);
  Autoflex alone;
  scales.begin_with(1, 0.7F);
  EXPECT_EQ(scales.known(1), kLargestMantissa * first_flex_step(0.7F).step);
  EXPECT_EQ(scales.known(0), 0);
  for (const float size : {0.3F, 0.5F, 0.2F, 40.0F, 0.4F, 0.1F}) {
    scales.see(0, size / 2);
    scales.see(0, size);
    scales.end_step();
    alone.see(size);
    EXPECT_EQ(scales.known(0), alone.range());
  }
  // An operand that a step has not seen keeps its exponent.
  scales.end_step();
  EXPECT_EQ(scales.known(0), alone.range());
  OperandScales other(2, OperandScales::Rule::Autoflex);
  ASSERT_TRUE(other.restore(scales.state()));
  EXPECT_EQ(other.known(0), scales.known(0));
  EXPECT_EQ(other.state(), scales.state());
  EXPECT_FALSE(OperandScales(3, OperandScales::Rule::Autoflex).restore(scales.state()));
  EXPECT_FALSE(OperandScales(2).restore(scales.state()));
}

struct FlexUse {
  double uses = 0, saturated = 0, bits = 0;  // bits: mean over uses
  // The operand that does worst has this share of uses with an element out of range, and this mean
  // of bits.
  double worst = 0, fewest = 15;
};
// Reads from the state of a run how its operands used their mantissas.
FlexUse flex_use(const std::string& state, std::size_t operands) {
  const std::size_t each = Autoflex().state().size();
  std::string_view exponents = std::string_view(state).substr(state.size() - operands * each);
  FlexUse use;
  for (std::size_t i = 0; i < operands; ++i) {
    Autoflex one;
    EXPECT_TRUE(one.restore(exponents));
    const auto uses = static_cast<double>(one.uses());
    use.uses += uses;
    use.saturated += static_cast<double>(one.saturated());
    use.bits += one.mean_bits() * uses;
    if (uses == 0) continue;
    use.worst = std::max(use.worst, static_cast<double>(one.saturated()) / uses);
    use.fewest = std::min(use.fewest, one.mean_bits());
  }
  use.bits /= use.uses;
  return use;
}

double flex_accuracy(const Model& model, const char* precision, std::int64_t steps,
                     std::int64_t batch, double rate, FlexUse* use) {
  const auto source = open_data("fashion-mnist", data_seeds({}), {});
  Training training;
  training.rate = rate, training.momentum = 0.9, training.steps = steps;
  training.schedule = RateSchedule::Cosine;
  const std::string size = std::to_string(batch);
  const Workload w = prepare(testing::scenario(
      model, 1, {precision, "optimizer=momentum", "global-batch=" + size, "micro-batch=" + size},
      "cpu"));
  const Program program = lower(w, {.grain = Grain::Op});
  const TaskPrices prices =
      price(program, w.scenario.plan.mesh, w.scenario.cluster, *roofline_cost_model());
  CpuBackend backend({w, program, prices, &training, source.get()}, {});
  backend.run();
  if (use != nullptr) {
    std::size_t operands = 0;
    for (const Block& block : model.blocks)
      operands += 2 * block.graph.tensors.size() * static_cast<std::size_t>(block.count);
    const Checkpoint state = backend.state();
    for (const CheckpointPart& part : state.parts)
      if (part.name == "largest values of operands") *use = flex_use(part.content, operands);
  }
  return evaluate(w, backend.parameters(), *source, 0).accuracy;
}

// Two convolutions that each halve images of 28 x 28, pooling and a product.
Model flex_convnet() {
  Model model;
  model.name = "convnet";
  model.family = "resnet";
  model.tokens = false;
  const auto convolved = [](GraphBuilder& b, std::int64_t in, std::int64_t side, std::int64_t out,
                            bool leaf) {
    b.graph.input = b.activation("input", {kBatch, whole(in), whole(side), whole(side)});
    std::map<std::string, std::int64_t> attributes = {{"padding", 1}, {"stride", 2}};
    if (leaf) attributes["leaf"] = 1;
    const TensorId weight = b.parameter("conv.weight", {whole(out), whole(in), whole(3), whole(3)});
    return b.node("relu", relu(),
                  {b.node("conv", convolution(), {b.graph.input, weight}, attributes)});
  };
  GraphBuilder first, second, end;
  model.blocks.push_back(first.block("stem", 1, false, convolved(first, 1, 28, 8, true)));
  model.blocks.push_back(second.block("layers", 1, true, convolved(second, 8, 14, 16, false)));
  end.graph.input = end.activation("input", {kBatch, whole(16), whole(7), whole(7)});
  const TensorId flat = end.node("flatten", flatten(), {end.graph.input});
  model.blocks.push_back(
      end.block("head", 1, false, end.loss(end.linear("fc", flat, whole(10), true))));
  return model;
}

// Bar B-NUM-03 on runs: accuracy within half a point of fp32, and for each operand of each op at
// most one overflow in a thousand uses, and at least 12 of 15 bits used.
TEST(Flex16Training, AnswersAsFp32DoesOnRealImages) {
  if (!data_entry("fashion-mnist").absent().empty()) GTEST_SKIP() << "no data";
  for (const Model& model : {build_mlp({"mlp", 784, 128, 3, 10}), flex_convnet()}) {
    SCOPED_TRACE(model.name);
    FlexUse use;
    const double wide = flex_accuracy(model, "precision=fp32", 400, 64, 0.05, nullptr),
                 flex = flex_accuracy(model, "precision=flex16", 400, 64, 0.05, &use);
    RecordProperty(model.name + "-fp32", std::to_string(wide));
    RecordProperty(model.name + "-flex16", std::to_string(flex));
    RecordProperty(model.name + "-bits", std::to_string(use.bits));
    RecordProperty(model.name + "-saturated", std::to_string(use.saturated / use.uses));
    EXPECT_GT(wide, 0.8);
    EXPECT_GE(flex, wide - 0.005);
    EXPECT_GT(use.uses, 400 * 7);
    EXPECT_GE(use.fewest, 12);
    EXPECT_LE(use.worst, 1e-3);
  }
}

TEST(Flex16Training, WhatIsNotDoneIsRefusedWithAWayOut) {
  const Workload w =
      prepare(testing::scenario(testing::gpt(kFlexGpt), 1, {"precision=flex16"}, "cpu"));
  const Diagnostics reference = ReferenceMachine::check(w, lower(w, {.grain = Grain::Op}));
  ASSERT_TRUE(has_errors(reference));
  EXPECT_EQ(reference[0].message,
            "the reference computes every product in 8-byte numbers, found casts to flex16");
}

}  // namespace
}  // namespace trainyard
