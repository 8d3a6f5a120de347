// Tests that backends train what a plan says: adapters and what is not frozen, with the gradients
// that the reference finds, while frozen weights stay bit for bit, however the plan divides the
// work.
#include "core/model/trained_parts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <optional>

#include "tests/support/cpu_training.h"
#include "tests/support/non_empty.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::CpuRun;
using testing::Settings;
using testing::tiny_transformer;
using testing::train_on_cpu;

Training steady_steps(std::int64_t steps) {
  Training t;
  t.rate = 0.1;
  t.momentum = 0.5;
  t.steps = steps;
  t.epsilon = 0.01;
  return t;
}

Settings joined_settings(Settings settings, const Settings& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

// Returns whether the tensor of that layer of the model is frozen.
bool is_frozen_tensor(const Model& model, const TrainedTensor& t) {
  int layer = 0;
  for (const Block& block : model.blocks) {
    if (t.layer < layer + block.count) {
      for (std::uint32_t i = 0; i < block.graph.tensors.size(); ++i)
        if (block.graph.tensors[i].name == t.name) return is_frozen(block.graph, {i});
    }
    layer += block.count;
  }
  ADD_FAILURE() << t.name;
  return false;
}

void expect_only_trained_weights_change(const CpuRun& run) {
  int frozen = 0, trained = 0;
  ASSERT_EQ(run.initial.size(), run.parameters.size());
  for (std::size_t i = 0; i < run.initial.size(); ++i) {
    const bool same = run.initial[i].values == run.parameters[i].values;
    const bool stays = is_frozen_tensor(run.workload.scenario.model, run.initial[i]);
    EXPECT_EQ(same, stays) << run.initial[i].layer << " " << run.initial[i].name;
    (stays ? frozen : trained) += 1;
  }
  EXPECT_GT(frozen, 0);
  EXPECT_GT(trained, 0);
}

const std::vector<Model>& adapted_models() {
  static const std::vector<Model> list = {
      tiny_transformer(), tiny_transformer({.tied = true}), tiny_transformer({.family = "llama"}),
      tiny_transformer({.family = "mixtral", .experts = 4, .shared_experts = 1})};
  return list;
}

TEST(TrainedPartsRun, GradientsAreThoseOfTheReference) {
  for (const Model& model : testing::non_empty(adapted_models())) {
    for (const Settings& what :
         std::vector<Settings>{{"lora=2", "lora.alpha=6"},
                               {"lora=2", "lora.targets=attention", "recompute=full"},
                               {"frozen=layers"}}) {
      SCOPED_TRACE(model.name + " " + std::string(what.front()));
      const Settings settings =
          joined_settings({"global-batch=4", "micro-batch=2", "optimizer=momentum"}, what);
      const CpuRun fast = train_on_cpu(model, 1, settings, steady_steps(3));
      expect_only_trained_weights_change(fast);
      LowerOptions lowering;
      lowering.grain = Grain::Op;
      lowering.steps = 3;
      const Program program = lower(fast.workload, lowering);
      ReferenceOptions options;
      options.rules[0].rate = 0.1;
      options.rules[0].momentum = 0.5;
      testing::start_as(fast, options);
      const ReferenceRun exact = ReferenceMachine(fast.workload, program).run(options);
      ASSERT_EQ(fast.run.losses.size(), exact.step_losses.size());
      for (std::size_t i = 0; i < exact.step_losses.size(); ++i)
        EXPECT_NEAR(fast.run.losses[i], exact.step_losses[i], 1e-5 * exact.step_losses[i]) << i;
      std::map<std::pair<int, std::string>, const ReferenceParameter*> of_reference;
      for (const ReferenceParameter& p : exact.parameters) of_reference[{p.layer, p.name}] = &p;
      for (const TrainedTensor& t : testing::non_empty(fast.parameters)) {
        const auto found = of_reference.find({t.layer, t.name});
        if (found == of_reference.end()) continue;  // a table that the head shares
        const std::vector<double>& wanted = found->second->weights.values;
        ASSERT_EQ(wanted.size(), t.values.size()) << t.name;
        for (std::size_t e = 0; e < wanted.size(); ++e)
          ASSERT_NEAR(t.values[e], wanted[e], 1e-5) << t.layer << " " << t.name << " " << e;
      }
    }
  }
}

// An adapter begins as nothing: the first loss is that of the model without it.
TEST(TrainedPartsRun, AdaptersBeginAsTheModelWas) {
  for (const Model& model : testing::non_empty(adapted_models())) {
    if (model.name == "tiny gpt2") continue;  // its dropout follows the number of nodes
    const Settings plain = {"global-batch=4", "micro-batch=2"};
    const CpuRun before = train_on_cpu(model, 1, plain, steady_steps(1)),
                 after =
                     train_on_cpu(model, 1, joined_settings(plain, {"lora=3"}), steady_steps(1));
    EXPECT_EQ(before.run.losses.front(), after.run.losses.front()) << model.name;
  }
}

TEST(TrainedPartsRun, FrozenWeightsStayBitForBit) {
  const std::vector<std::pair<std::int64_t, Settings>> plans = {
      {2, {"zero=1"}},
      {2, {"zero=2"}},
      {2, {"zero=3"}},
      {2, {"zero=3", "reshard-after-forward=off", "recompute=full"}},
      {4, {"zero=3", "hybrid=2"}},
      {2, {"tp=2", "seq=4"}},
      {4, {"tp=2", "sequence-parallel=off", "zero=1"}},
      {2, {"pp=2", "schedule=zb-h1"}},
      {4, {"pp=2", "zero=3"}},
      {2, {"pp=2", "virtual-stages=2"}},
      {2, {"cp=2", "seq=4"}},
      {2, {"zero=1", "offload=optimizer"}},
      {2, {"precision=bf16", "zero=2"}},
  };
  int ran = 0;
  for (const auto& [devices, plan] : testing::non_empty(plans))
    for (const char* what : {"lora=2", "frozen=layers", "frozen=head"})
      for (const char* family : {"gpt2", "llama"}) {
        std::string words = std::string(what) + " " + family;
        for (std::string_view word : plan) words += " " + std::string(word);
        SCOPED_TRACE(words);
        const Settings settings =
            joined_settings(joined_settings({"global-batch=8", "micro-batch=1"}, plan), {what});
        const CpuRun run =
            train_on_cpu(tiny_transformer({.family = family}), devices, settings, steady_steps(3));
        expect_only_trained_weights_change(run);
        ++ran;
      }
  EXPECT_EQ(ran, static_cast<int>(plans.size()) * 6);
}

// A head alone: nothing goes back below it, on any number of replicas.
TEST(TrainedPartsRun, AHeadIsTrainedAlone) {
  const Settings plain = {"global-batch=8", "micro-batch=1", "frozen=all-but-head"};
  const CpuRun alone = train_on_cpu(tiny_transformer(), 1, plain, steady_steps(4));
  expect_only_trained_weights_change(alone);
  for (const char* zero : {"zero=0", "zero=1", "zero=3"}) {
    const CpuRun run =
        train_on_cpu(tiny_transformer(), 4, joined_settings(plain, {zero}), steady_steps(4));
    expect_only_trained_weights_change(run);
    for (std::size_t i = 0; i < alone.run.losses.size(); ++i)
      EXPECT_NEAR(run.run.losses[i], alone.run.losses[i], 1e-5) << zero;
  }
}

// Adapters and frozen weights are in a checkpoint, and a run goes on from it to the same bits.
TEST(TrainedPartsRun, ACheckpointGoesOn) {
  for (const char* plan : {"zero=0", "zero=3"}) {
    const std::string path = ::testing::TempDir() + "trained_parts.checkpoint";
    std::remove(path.c_str());
    const Settings settings = {"lora=2", "global-batch=8", "micro-batch=1", plan};
    const CpuRun whole = train_on_cpu(tiny_transformer(), 2, settings, steady_steps(6));
    CpuOptions options;
    options.checkpoint = path;
    train_on_cpu(tiny_transformer(), 2, settings, steady_steps(3), options);
    options.resume = true;
    const CpuRun rest = train_on_cpu(tiny_transformer(), 2, settings, steady_steps(6), options);
    EXPECT_EQ(rest.run.losses, whole.run.losses) << plan;
    ASSERT_EQ(rest.parameters.size(), whole.parameters.size());
    for (std::size_t i = 0; i < whole.parameters.size(); ++i)
      EXPECT_EQ(rest.parameters[i].values, whole.parameters[i].values) << whole.parameters[i].name;
    std::remove(path.c_str());
  }
}

}  // namespace
}  // namespace trainyard
