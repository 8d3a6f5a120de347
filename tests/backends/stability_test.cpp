// Tests training for stability and training of pruned weights: gradients are those of the loss that
// is stated, and every plan trains as one device does.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "core/training/data/corrupted_data.h"
#include "core/training/lossy_weights.h"
#include "tests/support/cpu_training.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

Training stable_training(double stability, CorruptionKind kind = CorruptionKind::Noise) {
  Training training;
  training.rate = 0.1, training.momentum = 0.5, training.steps = 3;
  training.stability = stability;
  training.stability_data = {kind, 0.5};
  return training;
}

const testing::Settings kAlone = {"global-batch=8", "micro-batch=2", "optimizer=momentum"};

// Rows of a softmax, by hand.
std::vector<double> softmax_by_hand(const std::vector<double>& logits) {
  std::vector<double> shares;
  double sum = 0;
  for (const double x : logits) sum += std::exp(x);
  for (const double x : logits) shares.push_back(std::exp(x) / sum);
  return shares;
}

// The loss of a small network over pairs of samples with corrupted copies, or with copies under
// weights of few bits.
void expect_loss_of_pairs(CorruptionKind kind) {
  const Model model = build_mlp({"one product", 3, 3, 1, 3});
  Training training = stable_training(0.7, kind);
  if (kind == CorruptionKind::Bits) training.stability_data.amount = 3;
  training.steps = 1, training.rate = 0;
  const testing::SampleNumbers source;
  const testing::CpuRun run = testing::train_on_cpu(
      model, 1, {"global-batch=4", "micro-batch=4", "optimizer=sgd"}, training, {}, source);
  const CorruptedData copies(source, training.stability_data, training.seed);
  std::vector<TrainedTensor> rounded = run.initial;
  if (kind == CorruptionKind::Bits) lose({.bits = 3}, model, rounded);
  // All numbers through the layers that the model has, each a product, and ReLUs between.
  const auto answer = [&](std::vector<double> x, const std::vector<TrainedTensor>& weights) {
    for (std::size_t t = 0; t < weights.size(); ++t) {
      const TrainedTensor& w = weights[t];
      if (w.shape.size() != 2) continue;
      std::vector<double> y(static_cast<std::size_t>(w.shape[1]));
      for (std::size_t i = 0; i < x.size(); ++i)
        for (std::size_t j = 0; j < y.size(); ++j)
          y[j] += x[i] * static_cast<double>(w.values[i * y.size() + j]);
      const bool last = t + 2 >= weights.size();
      for (double& value : y) value = last ? value : std::max(0.0, value);
      x = y;
    }
    return x;
  };
  const auto numbers = [&](const DataSource& from, std::int64_t sample) {
    std::vector<float> x(3);
    const Graph& graph = model.blocks.front().graph;
    const std::int64_t shape[] = {1, 3};
    from.fill({model, graph, graph.nodes.front().inputs[0], shape, sample}, std::span(x));
    return std::vector<double>(x.begin(), x.end());
  };
  double loss = 0;
  for (std::int64_t sample = 0; sample < 2; ++sample) {
    std::int64_t label = 0;
    const Graph& graph = model.blocks.back().graph;
    const std::int64_t one[] = {1};
    source.fill({model, graph, graph.nodes.back().inputs[1], one, sample},
                std::span<std::int64_t>(&label, 1));
    const std::vector<double> p = softmax_by_hand(answer(numbers(source, sample), run.initial)),
                              q = softmax_by_hand(answer(numbers(copies, sample), rounded));
    loss -= std::log(p[static_cast<std::size_t>(label)]) / 2;
    for (std::size_t k = 0; k < p.size(); ++k) loss += 0.7 * p[k] * std::log(p[k] / q[k]) / 2;
  }
  EXPECT_NEAR(run.run.losses[0], loss, 1e-6);
}

TEST(Stability, LossIsCrossEntropyAndDivergenceOfThePairs) {
  expect_loss_of_pairs(CorruptionKind::Noise);
  expect_loss_of_pairs(CorruptionKind::Bits);
}

// The update of plain descent against differences of the loss, which the same run reports. Rounding
// is no smooth function of weights, but it leaves biases and norms as they are, whose gradients
// come through the rounded weights.
TEST(Stability, GradientIsThatOfTheLoss) {
  const std::vector<std::pair<Model, CorruptionKind>> cases = {
      {testing::tiny_mlp(1), CorruptionKind::Noise},
      {testing::tiny_transformer(), CorruptionKind::Replace},
      {testing::tiny_mlp(1), CorruptionKind::Bits},
      {testing::tiny_transformer({.family = "llama"}), CorruptionKind::Bits}};
  for (const auto& [model, kind] : cases) {
    const bool rounds = kind == CorruptionKind::Bits;
    Training training = stable_training(2, kind);
    if (rounds) training.stability_data.amount = 3;
    training.steps = 1, training.rate = 1;
    const Scenario scenario = testing::scenario(
        model, 1, {"precision=fp32", "global-batch=4", "micro-batch=4", "optimizer=sgd"}, "cpu");
    const Workload w = prepare(scenario);
    LowerOptions lowering;
    lowering.grain = Grain::Op, lowering.steps = 1;
    const Program program = lower(w, lowering);
    const testing::SampleNumbers source;
    const auto cost = roofline_cost_model();
    const TaskPrices prices = price(program, w.scenario.plan.mesh, w.scenario.cluster, *cost);
    const auto step = [&](const std::vector<TrainedTensor>* weights) {
      CpuBackend backend({w, program, prices, &training, &source});
      if (weights != nullptr) backend.set_parameters(*weights);
      std::vector<TrainedTensor> before = backend.parameters();
      const double loss = backend.run().losses[0];
      return std::tuple(loss, std::move(before), backend.parameters());
    };
    const auto [loss, before, after] = step(nullptr);
    constexpr float kBy = 1e-2f;
    double worst = 0, largest = 0;
    for (std::size_t t = 0; t < before.size(); ++t) {
      if (rounds && is_matrix(before[t])) continue;
      for (const std::size_t e : {std::size_t{0}, before[t].values.size() / 2}) {
        std::vector<TrainedTensor> moved = before;
        moved[t].values[e] += kBy;
        const double up = std::get<0>(step(&moved));
        moved[t].values[e] -= 2 * kBy;
        const double down = std::get<0>(step(&moved));
        const double gradient = double{before[t].values[e]} - double{after[t].values[e]};
        worst = std::max(worst, std::abs((up - down) / (2 * double{kBy}) - gradient));
        largest = std::max(largest, std::abs(gradient));
      }
    }
    EXPECT_GT(largest, 0.05) << model.name;
    EXPECT_LT(worst, 0.01 * largest) << model.name;
    EXPECT_GT(loss, 0);
  }
}

// One pair of one sample: the gradient of the first matrix is that sample times the one of its
// bias, which is the sum over the sample and its copy, as if the matrix had never been rounded.
TEST(Stability, RoundingLetsGradientsOfWeightsPass) {
  const Model model = build_mlp({"small", 3, 4, 2, 3});
  Training training = stable_training(2, CorruptionKind::Bits);
  training.stability_data.amount = 2, training.steps = 1, training.rate = 1;
  const testing::SampleNumbers source;
  const testing::CpuRun run = testing::train_on_cpu(
      model, 1, {"global-batch=2", "micro-batch=2", "optimizer=sgd"}, training, {}, source);
  std::vector<float> x(3);
  const Graph& graph = model.blocks.front().graph;
  const std::int64_t shape[] = {1, 3};
  source.fill({model, graph, graph.nodes.front().inputs[0], shape, 0}, std::span(x));
  const TrainedTensor *weight = nullptr, *bias = nullptr, *weight_after = nullptr,
                      *bias_after = nullptr;
  for (std::size_t t = 0; t < run.initial.size() && weight_after == nullptr; ++t) {
    if (run.initial[t].shape.size() != 2 || run.initial[t].shape[0] != 3) continue;
    weight = &run.initial[t], weight_after = &run.parameters[t];
    bias = &run.initial[t + 1], bias_after = &run.parameters[t + 1];
  }
  ASSERT_NE(weight, nullptr);
  ASSERT_EQ(bias->shape.size(), 1u);
  double largest = 0;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < bias->values.size(); ++j) {
      const std::size_t at = i * bias->values.size() + j;
      const double of_bias = double{bias->values[j]} - double{bias_after->values[j]};
      largest = std::max(largest, std::abs(of_bias));
      EXPECT_NEAR(double{weight->values[at]} - double{weight_after->values[at]},
                  double{x[i]} * of_bias, 1e-6);
    }
  EXPECT_GT(largest, 0.01);
}

TEST(Stability, EveryPlanTrainsAsOneDevice) {
  struct Case {
    Model model;
    CorruptionKind kind;
    std::int64_t devices;
    testing::Settings plan;
  };
  const Model mlp = testing::tiny_mlp(4), text = testing::tiny_transformer(),
              rotary = testing::tiny_transformer({.family = "llama"}),
              images = testing::tiny_convnet(2);
  const std::vector<Case> cases = {
      {mlp, CorruptionKind::Noise, 2, {"dp=2"}},
      {mlp, CorruptionKind::Contrast, 2, {"pp=2", "schedule=1f1b"}},
      {mlp, CorruptionKind::Noise, 4, {"dp=4", "zero=3"}},
      {mlp, CorruptionKind::Noise, 4, {"dp=2", "pp=2", "zero=1", "schedule=gpipe"}},
      {text, CorruptionKind::Replace, 2, {"pp=2", "schedule=zb-h1"}},
      {text, CorruptionKind::Replace, 2, {"dp=2", "zero=2"}},
      {images, CorruptionKind::Shift, 2, {"dp=2"}},
      {mlp, CorruptionKind::Bits, 2, {"dp=2"}},
      {mlp, CorruptionKind::Bits, 2, {"pp=2", "schedule=1f1b"}},
      {mlp, CorruptionKind::Bits, 4, {"dp=4", "zero=3"}},
      {rotary, CorruptionKind::Bits, 4, {"dp=2", "pp=2", "zero=1", "schedule=zb-h1"}},
      {rotary, CorruptionKind::Bits, 2, {"dp=2", "zero=2", "recompute=full"}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.model.name);
    Training training = stable_training(0.7, c.kind);
    if (c.kind == CorruptionKind::Shift) training.stability_data.amount = 1;
    if (c.kind == CorruptionKind::Bits) training.stability_data.amount = 4;
    training.sparsity = 0.5;
    testing::Settings parallel = kAlone;
    parallel.insert(parallel.end(), c.plan.begin(), c.plan.end());
    const testing::CpuRun one = testing::train_on_cpu(c.model, 1, kAlone, training),
                          many = testing::train_on_cpu(c.model, c.devices, parallel, training);
    // Batch norms normalise by the samples of a replica, which are other ones with more replicas.
    if (c.kind != CorruptionKind::Shift) testing::expect_same_training(many, one, 3e-5);
    std::int64_t zeros = 0, weights = 0;
    for (const TrainedTensor& tensor : many.parameters) {
      if (!is_matrix(tensor)) continue;
      weights += static_cast<std::int64_t>(tensor.values.size());
      zeros += std::count(tensor.values.begin(), tensor.values.end(), 0.f);
    }
    EXPECT_EQ(zeros, weights / 2);
  }
}

// Tensor ranks divide no softmax of the tiny network, and a pruned part of a row stays so.
TEST(Stability, TensorRanksKeepPrunedWeights) {
  Training training = stable_training(0);
  training.sparsity = 0.5;
  testing::Settings alone = kAlone;
  alone.push_back("seq=4");
  testing::Settings parallel = alone;
  parallel.push_back("tp=2");
  const Model model = testing::tiny_transformer();
  const testing::CpuRun one = testing::train_on_cpu(model, 1, alone, training),
                        two = testing::train_on_cpu(model, 2, parallel, training);
  testing::expect_same_training(two, one, 3e-5);
}

// The sentence about a plan that cannot train for stability; "" where it can.
std::string why_not_stable(const Model& model, std::int64_t devices, const testing::Settings& plan,
                           const Training& training) {
  const Workload w = prepare(testing::scenario(model, devices, plan, "cpu"));
  LowerOptions options;
  options.grain = Grain::Op;
  const Diagnostics found = CpuBackend::check({w, lower(w, options), TaskPrices{}, &training});
  for (const Diagnostic& d : found)
    if (d.severity == Diagnostic::Severity::Error) return d.message;
  return "";
}

TEST(Stability, PlansWithoutWholePairsAreRefused) {
  const Model mlp = testing::tiny_mlp(4);
  EXPECT_EQ(why_not_stable(mlp, 1, {"global-batch=4", "micro-batch=2"}, stable_training(1)), "");
  EXPECT_EQ(
      why_not_stable(mlp, 1, {"global-batch=3", "micro-batch=1"}, stable_training(1)),
      "the stability loss takes microbatches of pairs, a sample and its corrupted copy, found "
      "1 sample");
  EXPECT_NE(why_not_stable(mlp, 1, {"global-batch=4", "micro-batch=2"},
                           stable_training(1, CorruptionKind::Replace)),
            "");
  const Training bits = stable_training(1, CorruptionKind::Bits);
  EXPECT_EQ(
      why_not_stable(mlp, 2,
                     {"precision=fp32", "global-batch=4", "micro-batch=2", "dp=2", "zero=3"}, bits),
      "");
  EXPECT_EQ(
      why_not_stable(mlp, 1, {"global-batch=4", "micro-batch=2", "precision=bf16"}, bits),
      "the stability loss rounds weights of 4 bytes beside activations of as many, found another "
      "format");
  EXPECT_EQ(
      why_not_stable(mlp, 2, {"precision=fp32", "global-batch=4", "micro-batch=2", "tp=2"}, bits),
      "the stability loss rounds whole channels of weights, found tp=2");
  EXPECT_EQ(why_not_stable(testing::tiny_transformer(), 1,
                           {"precision=fp32", "global-batch=4", "micro-batch=2"}, bits),
            "the stability loss rounds the weights of products, convolutions and tables that are "
            "read for each sample, found position_embeddings (embedding)");
  EXPECT_NE(why_not_stable(testing::tiny_transformer(), 2,
                           {"global-batch=4", "micro-batch=2", "seq=4", "cp=2"},
                           stable_training(1, CorruptionKind::Replace)),
            "");
}

}  // namespace
}  // namespace trainyard
