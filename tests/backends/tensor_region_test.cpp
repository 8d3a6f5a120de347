// Tensor ranks train as one device does, in the memory that the program states: where a norm needs
// all heads, of which each rank has some; where every rank reads whole what a scan's channels or
// the heads of latent attention share; where one weight serves all heads; and where the first of
// all tokens is taken.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "core/timeline/metrics.h"
#include "tests/support/cases.h"
#include "tests/support/cpu_training.h"
#include "tests/support/non_empty.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::CpuRun;
using testing::Settings;

std::vector<Model> divided_models() {
  return {testing::tiny_wide_norms(NormKind::Rms),
          testing::tiny_wide_norms(NormKind::Layer),
          testing::tiny_recurrent(Mixer::StateSpace),
          testing::tiny_recurrent(Mixer::SelectiveScan),
          testing::tiny_recurrent(Mixer::SelectiveScan, true),
          testing::tiny_head_norms(),
          testing::tiny_delta(),
          testing::tiny_latent(0),
          testing::tiny_latent(6),
          testing::tiny_pooler(),
          testing::tiny_pooler(EncoderHead::PoolerAndMaskedTokens)};
}

struct TensorPlan {
  std::int64_t devices;
  Settings settings;
};

const TensorPlan kTensorPlans[] = {
    {2, {"tp=2", "sequence-parallel=off"}},
    {2, {"tp=2", "sequence-parallel=on"}},
    {4, {"tp=4", "sequence-parallel=off"}},
    {4, {"tp=4", "sequence-parallel=on"}},
    {2, {"tp=2", "overlap.tensor=on"}},
    {2, {"tp=2", "recompute=full"}},
    {2, {"tp=2", "sequence-parallel=off", "recompute=op"}},
    {2, {"tp=2", "recompute=op"}},
    {2, {"tp=2", "recompute=keep=input"}},
    {4, {"tp=2", "dp=2", "zero=3"}},
    {4, {"tp=2", "pp=2", "schedule=zb-h1"}},
    {4, {"tp=2", "pp=2", "schedule=zb-h1", "sequence-parallel=off", "recompute=op"}},
    {4, {"tp=2", "pp=2", "schedule=dualpipe-v", "virtual-stages=2", "recompute=full"}},
};

std::string words_of_region(const TensorPlan& plan) {
  std::string name;
  for (std::string_view one : plan.settings) name += std::string(one) + " ";
  return name;
}

CpuRun train_region(const Model& model, const TensorPlan& plan, CpuOptions options = {}) {
  Settings all = {"global-batch=4", "micro-batch=1", "optimizer=momentum", "seq=8"};
  all.insert(all.end(), plan.settings.begin(), plan.settings.end());
  Training t;
  t.rate = 0.05, t.momentum = 0.5, t.steps = 3;
  options.processor_time = [now = Duration{}]() mutable {
    return now += std::chrono::microseconds{10};
  };
  return testing::train_on_cpu(model, plan.devices, all, t, std::move(options));
}

// Norms of small queries magnify rounding: microbatches of two samples move a parameter of the tiny
// OLMo 2 by 6e-6, beside weights of norms that are 1.
void expect_as_one_device(const CpuRun& run, const CpuRun& alone) {
  testing::expect_same_training(run, alone, 3e-5);
}

void expect_memory_of_simulator(const CpuRun& t) {
  const auto most = [](const MemoryWave& wave, Category kept) {
    Bytes found{};
    for (const MemoryWave::Sample& s : wave.samples)
      found = std::max(found, s.bytes[static_cast<std::size_t>(kept)]);
    return found;
  };
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(t.program.devices); ++d) {
    const MemoryWave predicted = memory_wave(t.run.timeline, t.program, DeviceId{d});
    for (const Category kept : {Category::Activations, Category::Recomputed, Category::Workspace})
      EXPECT_EQ(most(t.run.waves[d], kept), most(predicted, kept))
          << to_string(kept) << " of device " << d;
  }
}

// Trains every model by every plan; a sanitized build takes one plan in four, of which each model
// begins elsewhere.
void expect_each(std::span<const Model> models, std::span<const TensorPlan> plans) {
  const std::size_t step = testing::sanitized() ? 4 : 1;
  std::size_t begin = 0;
  for (const Model& model : testing::non_empty(models)) {
    const CpuRun alone = train_region(model, {1, {}});
    for (std::size_t i = begin++ % step; i < plans.size(); i += step) {
      SCOPED_TRACE(model.name + ": " + words_of_region(plans[i]));
      try {
        const CpuRun run = train_region(model, plans[i]);
        expect_as_one_device(run, alone);
        expect_memory_of_simulator(run);
      } catch (const Error& error) {
        ADD_FAILURE() << describe(error);
      }
    }
  }
}

TEST(TensorRegion, RanksTrainAsOneDeviceInTheMemoryOfTheSimulator) {
  expect_each(divided_models(), kTensorPlans);
}

// Context ranks beside tensor ranks: a pooler takes the first token of them all, and ranks whose
// heads share a group have copies of it.
TEST(TensorRegion, ContextRanksTrainAsOneDeviceInTheMemoryOfTheSimulator) {
  const TensorPlan plans[] = {
      {2, {"cp=2"}},
      {4, {"cp=4"}},
      {4, {"cp=2", "tp=2", "sequence-parallel=off"}},
      {4, {"cp=2", "tp=2", "sequence-parallel=on"}},
      {4, {"cp=2", "tp=2", "recompute=full"}},
      {2, {"cp=2", "recompute=op"}},
      {2, {"cp=2", "overlap=off"}},
      {4, {"cp=2", "dp=2", "zero=3"}},
      {4, {"cp=2", "pp=2", "schedule=zb-h1"}},
      {4, {"cp=2", "pp=2", "schedule=dualpipe-v", "virtual-stages=2", "recompute=full"}},
  };
  const Model models[] = {testing::tiny_recurrent(Mixer::StateSpace), testing::tiny_delta(),
                          testing::tiny_pooler(),
                          testing::tiny_pooler(EncoderHead::PoolerAndMaskedTokens)};
  expect_each(models, plans);
}

// In layers that keep their weights whole, tensor ranks divide the sequence and exchange heads.
TEST(TensorRegion, RanksThatExchangeHeadsTrainAsOneDeviceInTheMemoryOfTheSimulator) {
  const char *const all = "tensor-parallel.ulysses-layers=all",
                    *const first = "tensor-parallel.ulysses-layers=first:1",
                    *const last = "tensor-parallel.ulysses-layers=last:1";
  const TensorPlan plans[] = {
      {2, {"tp=2", all}},
      {2, {"tp=2", first}},
      {2, {"tp=2", last, "overlap.tensor=on"}},
      {2, {"tp=2", first, "recompute=full"}},
      {2, {"tp=2", all, "recompute=op"}},
      {2, {"tp=2", first, "recompute=keep=input"}},
      {4, {"tp=2", "dp=2", all, "zero=1"}},
      {4, {"tp=2", "dp=2", first, "zero=2"}},
      {4, {"tp=2", "dp=2", last, "zero=3"}},
      {8, {"tp=2", "dp=4", all, "zero=3", "hybrid=2"}},
      {4, {"tp=2", "pp=2", all, "schedule=zb-h1"}},
      {8, {"tp=2", "pp=2", "dp=2", first, "schedule=zb-h1", "zero=2"}},
      {4, {"tp=2", "pp=2", last, "schedule=dualpipe-v", "virtual-stages=2", "recompute=full"}},
  };
  const Model models[] = {testing::tiny_wide_norms(NormKind::Rms),
                          testing::tiny_recurrent(Mixer::StateSpace),
                          testing::tiny_head_norms(),
                          testing::tiny_delta(),
                          testing::tiny_latent(6),
                          testing::tiny_pooler(EncoderHead::PoolerAndMaskedTokens)};
  expect_each(models, plans);
}

// The copies of a stage add up their gradients once those of the embedding are there too, which has
// nothing to add up among tensor ranks.
TEST(TensorRegion, CopiesOfAStageWaitForLayersThatReduceNothing) {
  for (const Model& model : {testing::tiny_encoder_decoder("t5", 2), testing::tiny_head_norms()}) {
    const CpuRun alone = train_region(model, {1, {}});
    for (const char* overlap : {"overlap=on", "overlap=off"}) {
      SCOPED_TRACE(model.name + " " + overlap);
      const CpuRun run = train_region(model, {4,
                                              {"tp=2", "pp=2", "schedule=chimera", overlap,
                                               "tensor-parallel.ulysses-layers=first:1"}});
      expect_as_one_device(run, alone);
    }
  }
}

// The first layer of T5's decoder reads the table of its encoder, which tensor ranks divide.
TEST(TensorRegion, LayersOfADecoderExchangeHeadsButThatWhichReadsTheEncodersTable) {
  const Model model = testing::tiny_encoder_decoder("t5", 2);
  const CpuRun alone = train_region(model, {1, {}});
  for (const char* layers :
       {"tensor-parallel.ulysses-layers=0-1,3", "tensor-parallel.ulysses-layers=last:1"}) {
    const CpuRun run = train_region(model, {4, {"tp=2", "dp=2", "zero=2", layers}});
    expect_as_one_device(run, alone);
    expect_memory_of_simulator(run);
  }
  EXPECT_THROW(train_region(model, {2, {"tp=2", "tensor-parallel.ulysses-layers=2"}}), Error);
}

// Its weight pass makes the sums before the activation again, from weights that are no longer
// there.
TEST(TensorRegion, AConvolutionNeedsItsWeightsInBothPassesOfASplitBackward) {
  const Model model = testing::tiny_recurrent(Mixer::SelectiveScan);
  const TensorPlan split{2, {"dp=2", "schedule=zb-h1", "zero=3", "zero-reduce=step"}};
  try {
    train_region(model, split);
    ADD_FAILURE() << "it was executed";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("the weight pass of conv1d reads them too"),
              std::string::npos)
        << error.what();
  }
  const CpuRun alone = train_region(model, {1, {}});
  for (const TensorPlan& plan : {TensorPlan{2, {"dp=2", "schedule=zb-h1", "zero=1"}},
                                 TensorPlan{2, {"dp=2", "schedule=1f1b", "zero=3"}}})
    expect_as_one_device(train_region(model, plan), alone);
}

// The bias of T5's attention and the rates of a scan have their gradients from the input pass of a
// split backward, and full gradients are there in the weight pass alone.
TEST(TensorRegion, GradientsOfInputPassesWaitForTheScatterOfTheWeightPass) {
  const Model models[] = {testing::tiny_encoder_decoder("t5", 2),
                          testing::tiny_recurrent(Mixer::StateSpace),
                          testing::tiny_recurrent(Mixer::SelectiveScan), testing::tiny_delta()};
  const TensorPlan plans[] = {
      {4, {"dp=2", "pp=2", "zero=2", "schedule=zb-h1"}},
      {4, {"dp=2", "pp=2", "zero=2", "schedule=zb-h1", "recompute=full"}},
      {4, {"dp=2", "pp=2", "zero=2", "schedule=zb-h2", "overlap=off"}},
      {4, {"dp=2", "pp=2", "zero=2", "schedule=zb-v", "virtual-stages=2"}},
      {4, {"dp=2", "pp=2", "zero=2", "schedule=v-min", "virtual-stages=2"}},
      {4, {"dp=2", "pp=2", "zero=2", "schedule=dualpipe-v", "virtual-stages=2"}},
      {4, {"dp=2", "pp=2", "zero=3", "schedule=zb-h1"}},
      {4, {"dp=2", "pp=2", "zero=3", "schedule=dualpipe-v", "virtual-stages=2"}},
  };
  for (const Model& model : models) {
    const CpuRun alone = train_region(model, {1, {}});
    for (const TensorPlan& plan : plans) {
      // The convolution before a scan reads its weights in both passes.
      const bool gathers = words_of_region(plan).find("zero=3") != std::string::npos;
      if (gathers && &model != &models[0]) continue;
      SCOPED_TRACE(model.name + ": " + words_of_region(plan));
      try {
        const CpuRun run = train_region(model, plan);
        expect_as_one_device(run, alone);
        expect_memory_of_simulator(run);
        const std::vector<Buffer>& buffers = run.program.buffers;
        EXPECT_TRUE(std::any_of(buffers.begin(), buffers.end(), [&](const Buffer& b) {
          const std::string_view name = run.program.name(b.name);
          return name.ends_with("relative_attention_bias.weight gradient for weights") ||
                 name.ends_with("A_log gradient for weights");
        }));
      } catch (const Error& error) {
        ADD_FAILURE() << describe(error);
      }
    }
  }
}

TEST(TensorRegion, AnAsynchronousScheduleDoesNotWaitForSharesOfAGradient) {
  try {
    train_region(testing::tiny_head_norms(),
                 {4, {"tp=2", "pp=2", "schedule=pipedream", "sequence-parallel=off"}});
    ADD_FAILURE() << "it was executed";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what())
                  .find("each tensor rank finds only its heads' share of the gradient of "
                        "q_norm.weight in layers"),
              std::string::npos)
        << error.what();
  }
}

// The patches of an image that leaves an even number of tokens, which no op makes one by one.
TEST(TensorRegion, SequenceParallelDividesNoPatches) {
  TransformerSpec spec = family_spec("vit");
  spec.name = "tiny vit";
  spec.layers = 2, spec.hidden = 8, spec.heads = 4, spec.ffn = 8;
  const Model model =
      build_vision_transformer(spec, {.image = 6, .patch = 2, .channels = 1, .classes = 3});
  try {
    train_region(model, {2, {"tp=2", "sequence-parallel=on"}});
    ADD_FAILURE() << "it was executed";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("found embeddings (patch_tokens) of embedding"),
              std::string::npos)
        << error.what();
  }
  expect_as_one_device(train_region(model, {2, {"tp=2", "sequence-parallel=off"}}),
                       train_region(model, {1, {}}));
}

}  // namespace
}  // namespace trainyard
