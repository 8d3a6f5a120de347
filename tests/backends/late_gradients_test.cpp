// What late gradients do to what a network learns, on the CPU backend: eight stages of a residual
// network with a layer each, trained to tell clusters of points apart, with the figures of PipeMare
// (Yang et al., MLSys 2021) and of pipelined backpropagation (Kosson et al., MLSys 2021) as bars.
#include <gtest/gtest.h>

#include <cmath>

#include "backends/cpu/execution/evaluation.h"
#include "core/model/graph_builder.h"
#include "tests/support/cases.h"
#include "tests/support/cpu_training.h"
#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::CpuRun;
using testing::Settings;

constexpr int kLateStages = 8;
constexpr const char* kTrainedElsewhere = "training under sanitizers is what EveryPlan does";
constexpr std::int64_t kPointSize = 16, kClusters = 10;

// A point is the middle of its cluster with noise; samples that are never trained on follow behind
// all others.
class ClusteredPoints final : public DataSource {
 public:
  std::string_view name() const override { return "clusters"; }
  std::string provenance() const override { return "made by the test"; }
  std::int64_t samples() const override { return 1 << 20; }
  std::int64_t evaluation_samples() const override { return 1000; }
  Diagnostics check(const Model&) const override { return {}; }
  void fill(const DataRequest& r, std::span<float> out) const override {
    for (std::size_t e = 0; e < out.size(); ++e) {
      const std::uint64_t point = first(r) + e / kPointSize, i = e % kPointSize;
      double noise = 0;  // of four uniform numbers, nearly normal
      for (std::uint64_t k = 0; k < 4; ++k) noise += Random(9, point).uniform(4 * i + k) - 0.5;
      const auto cluster = static_cast<std::uint64_t>(cluster_of(point));
      out[e] = static_cast<float>(2 * Random(3, cluster).uniform(i) - 1 + noise);
    }
  }
  void fill(const DataRequest& r, std::span<std::int64_t> out) const override {
    for (std::size_t e = 0; e < out.size(); ++e) out[e] = cluster_of(first(r) + e);
  }

 private:
  static std::uint64_t first(const DataRequest& r) {
    return static_cast<std::uint64_t>(r.first_sample) + (r.evaluation ? 1u << 30 : 0);
  }
  static std::int64_t cluster_of(std::uint64_t point) {
    return Random(7, point).between(0, 0, kClusters - 1);
  }
};

// x + relu(x w + b) / 3 a layer, between a first product and a head; a third is the root of the
// layers' number, so that what flows stays as large as it was.
Model residual_layers() {
  constexpr std::int64_t kWidth = 32;
  Model model;
  model.name = "residual mlp";
  model.family = "mlp";
  model.tokens = false;
  GraphBuilder start;
  const TensorId point = start.graph.input = start.activation("input", {kBatch, whole(kPointSize)});
  const TensorId first =
      start.linear("fc", point, whole(kWidth), true, TensorSplit::None, {}, true);
  model.blocks.push_back(start.block("input", 1, false, start.node("relu", relu(), {first})));
  GraphBuilder layer;
  const TensorId x = layer.graph.input = layer.activation("input", {kBatch, whole(kWidth)});
  const TensorId h = layer.node("relu", relu(), {layer.linear("fc", x, whole(kWidth), true)});
  const TensorId part = layer.node("scale", scale(), {h}, {{"numerator", 1}, {"denominator", 3}});
  model.blocks.push_back(layer.block("layers", kLateStages, true, layer.residual("add", x, part)));
  GraphBuilder end;
  const TensorId last = end.graph.input = end.activation("input", {kBatch, whole(kWidth)});
  model.blocks.push_back(
      end.block("head", 1, false, end.loss(end.linear("fc", last, whole(kClusters), true))));
  return model;
}

// In percent of points that were never trained on.
double accuracy(const Settings& settings, const Training& training, int stages = kLateStages) {
  const std::string pipeline = "pp=" + std::to_string(stages);
  Settings all = {pipeline, "optimizer=sgd"};
  all.insert(all.end(), settings.begin(), settings.end());
  const ClusteredPoints points;
  const CpuRun run = testing::train_on_cpu(residual_layers(), stages, all, training, {}, points);
  return 100 * evaluate(run.workload, run.parameters, points, 1000).accuracy;
}

// Every microbatch is an update, so that gradients are up to 15 updates late. The rate is one at
// which the synchronous plan learns and a plan that does nothing about delays does not.
TEST(LateGradients, T1AndT2LearnWhereAPlainPipelineDiverges) {
  if (testing::sanitized()) GTEST_SKIP() << kTrainedElsewhere;
  for (const std::uint64_t seed : {1u, 2u}) {
    Training training;
    training.rate = 0.3;
    training.schedule = RateSchedule::Linear;  // T1 presumes a rate that falls
    training.steps = 600;
    training.seed = seed;
    const auto reached = [&](Settings settings) {
      settings.insert(settings.end(), {"global-batch=16", "micro-batch=16"});
      return accuracy(settings, training);
    };
    const double synchronous = reached({"schedule=1f1b"});
    EXPECT_GT(synchronous, 90);
    EXPECT_GE(reached({"schedule=pipemare", "pipemare.reschedule=300"}), synchronous - 2);
    EXPECT_LT(reached({"schedule=pipemare", "pipemare.correct=off"}), 20);
  }
}

// One sample an update, up to 14 updates late, with the momentum and rate that keep the decay a
// sample and the impulse of batches of 16: m = m16^(1 / 16), rate = rate16 (1 - m) / ((1 - m16)
// 16).
TEST(LateGradients, CompensatedSamplesLearnAsBatchesDo) {
  if (testing::sanitized()) GTEST_SKIP() << kTrainedElsewhere;
  constexpr double kBatch = 16, kPoint = 0.5;
  Training batches;
  batches.rate = 0.03;
  batches.steps = 150;
  Training samples = batches;
  samples.momentum = std::pow(batches.momentum, 1 / kBatch);
  samples.rate = batches.rate * (1 - samples.momentum) / ((1 - batches.momentum) * kBatch);
  samples.steps = 16 * batches.steps;
  const auto reached = [&](const Settings& settings) {
    Settings all = {"schedule=pipelined-backprop", "global-batch=1", "micro-batch=1",
                    "optimizer=momentum"};
    all.insert(all.end(), settings.begin(), settings.end());
    return accuracy(all, samples);
  };
  const double synchronous = accuracy(
      {"schedule=1f1b", "global-batch=16", "micro-batch=16", "optimizer=momentum"}, batches);
  EXPECT_GT(synchronous, 80);
  const double compensated = reached({});
  EXPECT_GE(compensated, synchronous - 1);
  EXPECT_LE(reached({"pipelined-backprop.compensate=off", "pipelined-backprop.predict=none"}),
            compensated + kPoint);
}

// Two waves of 8 samples, each updating the weights under the other, against one batch of 16: alike
// where the rate suits both, and a rate which the batch survives is too large for the waves.
TEST(LateGradients, WavesLearnAsTheDoubledBatchBelowTheirOwnCeiling) {
  if (testing::sanitized()) GTEST_SKIP() << kTrainedElsewhere;
  const auto reached = [](double rate, std::uint64_t seed, const Settings& settings) {
    Training training;
    training.rate = rate;
    training.steps = 300;
    training.seed = seed;
    Settings all = {"global-batch=16", "optimizer=momentum"};
    all.insert(all.end(), settings.begin(), settings.end());
    return accuracy(all, training, 1);
  };
  const Settings waves = {"schedule=tick-tock", "micro-batch=8"},
                 batch = {"schedule=1f1b", "micro-batch=16"};
  double of_waves = 0, of_batch = 0;  // mean of two seeds
  for (const std::uint64_t seed : {1u, 2u}) {
    of_waves += reached(0.02, seed, waves) / 2, of_batch += reached(0.02, seed, batch) / 2;
    EXPECT_LT(reached(0.24, seed, waves), 20);
    EXPECT_GT(reached(0.24, seed, batch), 70);
  }
  EXPECT_GT(of_batch, 90);
  EXPECT_GE(of_waves, of_batch - 1);
}

}  // namespace
}  // namespace trainyard
