// The CPU backend trains with optimizers that keep state by tensor: as one device does, in as many
// bytes as are predicted, from a checkpoint to the same bits, and in about as many steps as AdamW.
// A step takes longer: for each parameter of 512 x 512 on one core of the machine of these tests
// AdamW's takes 0.6 ns, adamw-8bit's 5.5 ns and Adafactor's 7.7 ns.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>

#include "backends/reference/reference_backend.h"
#include "core/methods/precision/tensor_state.h"
#include "core/model/graph_builder.h"
#include "core/model/zoo/builders.h"
#include "tests/support/cpu_training.h"
#include "tests/support/non_empty.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::apart;
using testing::CpuRun;
using testing::expect_same_training;
using testing::Settings;
using testing::train_on_cpu;

constexpr const char* kRules[] = {"optimizer=adamw-8bit", "optimizer=adafactor", "optimizer=muon"};

// Matrices of more than one block, of unequal sides.
Model blocks_mlp() { return build_mlp({"blocks mlp", 12, 24, 4, 5}); }

Training steps_of(std::int64_t steps) {
  Training training;
  training.rate = 0.01;
  training.steps = steps;
  training.weight_decay = 0.1;
  training.epsilon = 1e-3;  // a gradient that is 0 except for rounding has no effect
  return training;
}

CpuRun trained(const Model& model, std::int64_t devices, const char* rule, const Settings& more,
               const Training& training, CpuOptions options = {}) {
  Settings all = {"global-batch=8", rule};
  all.insert(all.end(), more.begin(), more.end());
  return train_on_cpu(model, devices, all, training, std::move(options));
}

/// Numbers whose class is that of the largest among the first five.
class LargestOfFive final : public DataSource {
 public:
  std::string_view name() const override { return "largest of five"; }
  std::string provenance() const override { return "made by the test"; }
  std::int64_t samples() const override { return 1 << 20; }
  std::int64_t evaluation_samples() const override { return 8; }
  Diagnostics check(const Model&) const override { return {}; }
  void fill(const DataRequest& r, std::span<float> out) const override {
    const auto width = static_cast<std::size_t>(r.shape.back());
    for (std::size_t e = 0; e < out.size(); ++e)
      out[e] = number(r.first_sample + static_cast<std::int64_t>(e / width), e % width);
  }
  void fill(const DataRequest& r, std::span<std::int64_t> out) const override {
    for (std::size_t s = 0; s < out.size(); ++s) {
      const std::int64_t sample = r.first_sample + static_cast<std::int64_t>(s);
      std::int64_t largest = 0;
      for (std::size_t i = 1; i < 5; ++i)
        if (number(sample, i) > number(sample, static_cast<std::size_t>(largest)))
          largest = static_cast<std::int64_t>(i);
      out[s] = largest;
    }
  }

 private:
  static float number(std::int64_t sample, std::size_t i) {
    return static_cast<float>(2 * Random(17, static_cast<std::uint64_t>(sample)).uniform(i) - 1);
  }
};

TEST(CpuTensorOptimizers, EveryPlanTrainsAsOneDeviceDoes) {
  struct Case {
    std::int64_t devices;
    Settings settings;
  };
  const Case cases[] = {
      {2, {"dp=2", "micro-batch=2"}},
      {2, {"pp=2", "micro-batch=1"}},
      {2, {"pp=2", "micro-batch=1", "virtual-stages=2", "schedule=interleaved"}},
      {2, {"pp=2", "micro-batch=1", "schedule=zb-h1"}},
      {4, {"pp=2", "dp=2", "micro-batch=1", "recompute=full"}},
  };
  for (const char* rule : kRules) {
    const CpuRun alone = trained(blocks_mlp(), 1, rule, {"micro-batch=8"}, steps_of(4));
    EXPECT_GT(apart(alone.initial, alone.parameters), 0.01);
    for (const Case& c : testing::non_empty(cases)) {
      SCOPED_TRACE(std::string(rule) + " " + std::string(c.settings.front()));
      expect_same_training(trained(blocks_mlp(), c.devices, rule, c.settings, steps_of(4)), alone,
                           2e-4);
    }
  }
}

// The reference executes whole tensors in doubles and takes the steps of the same rules.
TEST(CpuTensorOptimizers, ThePlansOfTheReferenceTrainAlike) {
  Training training = steps_of(4);
  training.weight_decay = 0;
  const testing::SampleNumbers source;
  for (const char* rule : kRules)
    for (const Settings& plan :
         {Settings{"micro-batch=8"}, Settings{"pp=2", "dp=2", "micro-batch=1", "schedule=zb-h1"}}) {
      SCOPED_TRACE(rule);
      const CpuRun fast = trained(blocks_mlp(), plan.size() > 1 ? 4 : 1, rule, plan, training);
      const Scenario& s = fast.workload.scenario;
      const auto cost = roofline_cost_model();
      const TaskPrices prices = price(fast.program, s.plan.mesh, s.cluster, *cost);
      ReferenceBackend exact({fast.workload, fast.program, prices, &training, &source});
      const BackendRun run = exact.run({});
      ASSERT_EQ(run.losses.size(), fast.run.losses.size());
      for (std::size_t i = 0; i < run.losses.size(); ++i)
        EXPECT_NEAR(run.losses[i], fast.run.losses[i], 2e-5 * run.losses[i]);
      EXPECT_LT(apart(fast.parameters, exact.parameters()), 1e-3);
      EXPECT_GT(apart(fast.parameters, fast.initial), 0.01);
    }
}

// Families with kernels, recurrences, tables, tied heads and experts; experts are whole on the rank
// that has them.
TEST(CpuTensorOptimizers, EveryFamilyTrainsAsOneDeviceDoes) {
  struct Case {
    Model model;
    std::int64_t devices;
    Settings settings, alone;
  };
  const Case cases[] = {
      {testing::tiny_convnet(4), 2, {"dp=2", "micro-batch=2"}, {"micro-batch=2"}},
      {testing::tiny_transformer({.tied = true}), 2, {"pp=2", "micro-batch=1"}, {"micro-batch=1"}},
      {testing::tiny_transformer({.family = "llama"}), 2, {"cp=2", "seq=4"}, {"seq=4"}},
      {testing::tiny_transformer({.family = "mixtral", .experts = 4}), 2, {"dp=2", "ep=2"}, {}},
  };
  Training training = steps_of(3);
  training.epsilon = 1;
  for (const Case& c : testing::non_empty(cases))
    for (const char* rule : {"optimizer=adamw-8bit", "optimizer=muon"}) {
      SCOPED_TRACE(c.model.name + " " + rule);
      const CpuRun alone = trained(c.model, 1, rule, c.alone, training);
      expect_same_training(trained(c.model, c.devices, rule, c.settings, training), alone, 2e-4);
    }
}

// Layers without vectors, of which two ranks have two blocks of 256 elements each.
Model two_blocks_a_rank() {
  Model model;
  model.name = "whole blocks";
  model.family = "mlp";
  model.tokens = false;
  const auto add_layer = [&](const char* name, int count, bool first, bool last, int in, int out) {
    GraphBuilder b;
    const TensorId x = b.graph.input = b.activation("input", {kBatch, whole(in)});
    const TensorId y = b.linear("fc", x, whole(out), false, TensorSplit::None, {}, first);
    model.blocks.push_back(
        b.block(name, count, !first && !last, last ? b.loss(y) : b.node("relu", relu(), {y})));
  };
  add_layer("first", 1, true, false, 32, 32);
  add_layer("layers", 2, false, false, 32, 32);
  add_layer("last", 1, false, true, 32, 32);
  return model;
}

// Ranks that cut state between two blocks hold the blocks of one device.
TEST(CpuTensorOptimizers, AdamwIn8BitsIsExactWhereRanksCutBetweenBlocks) {
  const CpuRun replicated =
      trained(two_blocks_a_rank(), 2, kRules[0], {"dp=2", "micro-batch=4"}, steps_of(5));
  for (const char* zero : {"zero=1", "zero=2", "zero=3"}) {
    const CpuRun divided =
        trained(two_blocks_a_rank(), 2, kRules[0], {"dp=2", "micro-batch=4", zero}, steps_of(5));
    EXPECT_EQ(divided.run.losses, replicated.run.losses) << zero;
    EXPECT_EQ(apart(divided.parameters, replicated.parameters), 0) << zero;
  }
}

// Where they cut a block, and where tensor ranks have tensors of their own, some blocks have other
// scales. An element of a block that is cut differs by half a code at most, and its step by a share
// of the rate: weights stay within a tenth of rate times steps, and losses within a thousandth.
TEST(CpuTensorOptimizers, AdamwIn8BitsStaysNearOneDeviceWhereRanksCutBlocks) {
  const Training training = steps_of(5);
  const double reach = training.rate * static_cast<double>(training.steps);
  const Model gpt = testing::tiny_transformer({.family = "llama"});
  struct Case {
    Model model;
    std::int64_t devices;
    Settings settings;
  };
  const Case cases[] = {{blocks_mlp(), 2, {"dp=2", "micro-batch=2", "zero=1"}},
                        {blocks_mlp(), 4, {"dp=4", "micro-batch=2", "zero=3"}},
                        {gpt, 2, {"tp=2", "micro-batch=2", "sequence-parallel=off"}}};
  for (const Case& c : testing::non_empty(cases)) {
    const CpuRun alone = trained(c.model, 1, kRules[0], {"micro-batch=2"}, training),
                 divided = trained(c.model, c.devices, kRules[0], c.settings, training);
    ASSERT_EQ(divided.run.losses.size(), alone.run.losses.size());
    for (std::size_t i = 0; i < alone.run.losses.size(); ++i)
      EXPECT_NEAR(divided.run.losses[i], alone.run.losses[i], 1e-3 * alone.run.losses[i]);
    double most = 0;
    for (std::size_t t = 0; t < alone.parameters.size(); ++t)
      for (std::size_t e = 0; e < alone.parameters[t].values.size(); ++e)
        most = std::max(most, std::abs(double{divided.parameters[t].values[e]} -
                                       double{alone.parameters[t].values[e]}));
    EXPECT_GT(most, 0);
    EXPECT_LT(most, 0.1 * reach) << c.model.name << " " << c.settings.front();
  }
}

// The bytes of state by the shapes of the parameters: moments of every parameter, then by tensor.
std::int64_t expected_state(std::string_view rule, const std::vector<TrainedTensor>& parameters) {
  std::int64_t sum = 0;
  int last = 0;
  for (const TrainedTensor& t : parameters) last = std::max(last, t.layer);
  for (const TrainedTensor& t : parameters) {
    const auto n = static_cast<std::int64_t>(t.values.size());
    const bool matrix = t.shape.size() > 1;
    if (rule.ends_with("8bit")) sum += 2 * n + 8 * ((n + 255) / 256);
    if (rule.ends_with("adafactor")) sum += 4 * (matrix ? t.shape[0] + n / t.shape[0] : n);
    if (rule.ends_with("muon")) sum += 4 * n + (matrix && t.layer != last ? 0 : 4 * n);
  }
  return sum;
}

TEST(CpuTensorOptimizers, HoldTheBytesThatArePredicted) {
  for (const char* rule : kRules) {
    const CpuRun run = trained(blocks_mlp(), 1, rule, {}, steps_of(1));
    const Bytes expected{expected_state(rule, run.initial)};
    Bytes predicted{};
    for (const Buffer& buffer : run.program.buffers)
      if (buffer.holds == Holds::OptimizerState) predicted += buffer.bytes;
    EXPECT_EQ(predicted, expected) << rule;
    ASSERT_EQ(run.run.memory.size(), 1u);
    EXPECT_EQ(
        run.run.memory[0].most_by_category[static_cast<std::size_t>(Category::OptimizerState)],
        expected)
        << rule;
  }
}

// Weights may be of every format, and replicas may combine updates of their own.
TEST(CpuTensorOptimizers, TrainInEveryPrecisionAndByAdasum) {
  Training training = steps_of(20);
  training.rate = 0.02;
  for (const char* rule : kRules)
    for (const Settings& settings :
         {Settings{"precision=bf16"}, Settings{"precision=fp16"}, Settings{"precision=fp8"},
          Settings{"precision=mxfp8"}, Settings{"precision=bf16-nearest"},
          Settings{"precision=bf16-sr"}, Settings{"precision=bf16-kahan"},
          Settings{"dp=2", "reduce=adasum"}}) {
      SCOPED_TRACE(std::string(rule) + " " + std::string(settings.back()));
      Settings all = {"global-batch=32", "micro-batch=16", rule};
      all.insert(all.end(), settings.begin(), settings.end());
      const CpuRun run =
          train_on_cpu(build_mlp({"largest of five", 12, 32, 2, 5}), settings.size() > 1 ? 2 : 1,
                       all, training, {}, LargestOfFive());
      EXPECT_LT(run.run.losses.back(), 0.97 * run.run.losses.front());
    }
}

TEST(CpuTensorOptimizers, ResumeToTheSameBits) {
  const std::string path = ::testing::TempDir() + "cpu_tensor_optimizers.checkpoint";
  for (const char* rule : kRules)
    for (const Settings& settings :
         {Settings{"pp=2", "micro-batch=1"}, Settings{"dp=2", "precision=bf16"},
          Settings{"dp=2", "precision=bf16-kahan"}, Settings{"dp=2", "precision=bf16-sr"},
          Settings{"dp=2", std::string_view(rule).ends_with("8bit") ? "zero=3" : "zero=0"}}) {
      SCOPED_TRACE(std::string(rule) + " " + std::string(settings.back()));
      const CpuRun whole = trained(blocks_mlp(), 2, rule, settings, steps_of(6));
      CpuOptions options;
      options.checkpoint = path;
      trained(blocks_mlp(), 2, rule, settings, steps_of(3), options);
      options.resume = true;
      const CpuRun second = trained(blocks_mlp(), 2, rule, settings, steps_of(6), options);
      EXPECT_EQ(second.run.first_step, 3);
      EXPECT_EQ(second.run.losses, whole.run.losses);
      EXPECT_EQ(apart(second.parameters, whole.parameters), 0);
      std::filesystem::remove(path);
    }
}

// The mean of the last losses, over AdamW's: few steps of a small rate tell how near a rule is to
// AdamW, many of a usual one whether it trains as well.
TEST(CpuTensorOptimizers, ConvergeAsAdamwDoes) {
  struct Case {
    double rate;
    std::int64_t steps;
    double most[3];  // by rule
  };
  // Steps that are orthogonal move all directions alike, which takes longer at a small rate.
  const Case cases[] = {{0.003, 150, {1.03, 1.15, 2.5}}, {0.01, 400, {1.02, 1.02, 1.02}}};
  const Model model = build_mlp({"largest of five", 12, 32, 2, 5});
  for (const Case& c : testing::non_empty(cases)) {
    Training training;
    training.rate = c.rate;
    training.steps = c.steps;
    const auto last_losses = [&](const char* rule) {
      const CpuRun run = train_on_cpu(model, 1, {"global-batch=32", "micro-batch=32", rule},
                                      training, {}, LargestOfFive());
      double sum = 0;
      for (std::size_t i = run.run.losses.size() - 20; i < run.run.losses.size(); ++i)
        sum += run.run.losses[i] / 20;
      EXPECT_LT(sum, 0.75 * run.run.losses.front()) << rule;
      return sum;
    };
    const double adamw = last_losses("optimizer=adamw");
    for (std::size_t r = 0; r < std::size(kRules); ++r)
      EXPECT_LT(last_losses(kRules[r]) / adamw, c.most[r]) << kRules[r] << " at " << c.rate;
  }
}

}  // namespace
}  // namespace trainyard
