// Products in whole numbers with scales for vectors: they are those that hardware computes, they
// train, within the memory that their program states, alike on one device and on several, and a
// network that is trained in them answers better in few bits than one that is rounded afterwards
// (B-NUM-05).
#include <gtest/gtest.h>

#include <cmath>

#include "backends/cpu/execution/evaluation.h"
#include "backends/cpu/kernels/narrow_product.h"
#include "core/base/drawn_normal.h"
#include "core/model/ops.h"
#include "core/model/zoo/builders.h"
#include "core/timeline/metrics.h"
#include "core/training/lossy_weights.h"
#include "core/training/numbers/vector_scales.h"
#include "tests/support/cpu_training.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

constexpr testing::GptSizes kVectorGpt{
    .layers = 2, .hidden = 32, .heads = 2, .sequence = 8, .vocab = 64};

testing::CpuRun train_in_vectors(const testing::Settings& words, std::int64_t devices = 1,
                                 const Model& model = testing::gpt(kVectorGpt)) {
  Training training;
  training.rate = 0.01, training.steps = 5;
  testing::Settings all = {"precision=vs-quant", "optimizer=adamw", "global-batch=8",
                           "micro-batch=2"};
  all.insert(all.end(), words.begin(), words.end());
  return testing::train_on_cpu(model, devices, all, training);
}

double most_in_vectors(const MemoryWave& wave) {
  return static_cast<double>(total(wave.samples[wave.peak].bytes).value);
}

struct OneProduct {
  static constexpr std::int64_t kRows = 5, kDeep = 37, kWide = 9;
  Graph graph;
  Binding binding;
  Scratch scratch;
  std::vector<float> x, weight, y = std::vector<float>(kRows * kWide);
  explicit OneProduct(bool negative) {
    graph.input = graph.add(Tensor{"x", {Dim{kRows}, Dim{kDeep}}, TensorKind::Activation, ""});
    const TensorId w =
        graph.add(Tensor{"weight", {Dim{kDeep}, Dim{kWide}}, TensorKind::Parameter, ""});
    graph.output = graph.add("fc", matmul(), {graph.input, w});
    for (std::uint64_t i = 0; i < kRows * kDeep; ++i) {
      const auto drawn = static_cast<float>(drawn_normal(Random(1, 0), i));
      x.push_back(negative ? drawn : std::abs(drawn));
    }
    for (std::uint64_t i = 0; i < kDeep * kWide; ++i)
      weight.push_back(static_cast<float>(drawn_normal(Random(2, 0), i)));
  }
  static TensorView view(std::vector<float>& of, std::int64_t first, std::int64_t second) {
    TensorView v;
    v.data = of.data(), v.rank = 2, v.size = {first, second};
    return v;
  }
};

// The kernel's floats are what whole numbers give, and the kept codes widen to what it has read.
TEST(VectorProducts, AreThoseInWholeNumbers) {
  NarrowScaling scaling;
  scaling.block = 16, scaling.vectors = {4, 5, 6};
  for (const bool negative : {true, false}) {
    OneProduct p(negative);
    const std::vector<TensorView> inputs = {p.view(p.x, p.kRows, p.kDeep),
                                            p.view(p.weight, p.kDeep, p.kWide)},
                                  outputs = {p.view(p.y, p.kRows, p.kWide)};
    const KernelCall call{.graph = p.graph,
                          .node = p.graph.nodes[0],
                          .binding = p.binding,
                          .inputs = inputs,
                          .outputs = outputs,
                          .scratch = p.scratch};
    std::vector<std::uint8_t> codes((p.kRows * p.kDeep * 5 + 7) / 8);
    std::vector<float> scales, widened(p.x.size()), rounded = p.x;
    NarrowOperands how{scaling};
    how.no_negative_input = !negative, how.codes = codes.data(), how.scales = &scales;
    run_narrow(call, Pass::Forward, how);
    const VectorScales of_x{5, 16, 6, negative}, of_weight{4, 16, 6};
    const Lines rows{p.kRows, p.kDeep, 1}, columns{1, p.kDeep, p.kWide};
    const VectorCodes x = to_vectors(of_x, rows, p.x.data()),
                      weight = to_vectors(of_weight, columns, p.weight.data());
    for (std::int64_t i = 0; i < p.kRows; ++i)
      for (std::int64_t j = 0; j < p.kWide; ++j) {
        double sizes = 0;
        for (std::int64_t k = 0; k < p.kDeep; ++k)
          sizes += std::abs(double{p.x[static_cast<std::size_t>(i * p.kDeep + k)]} *
                            double{p.weight[static_cast<std::size_t>(k * p.kWide + j)]});
        EXPECT_NEAR(p.y[static_cast<std::size_t>(i * p.kWide + j)],
                    whole_product(of_x, rows, x, i, of_weight, columns, weight, j), 1e-6 * sizes);
      }
    widen_kept(scaling, !negative, p.view(widened, p.kRows, p.kDeep), codes.data(), scales);
    round_to_vectors(of_x, rows, rounded);
    EXPECT_EQ(widened, rounded);
  }
}

TEST(VectorProducts, TrainNearBf16AndNotAlike) {
  const testing::CpuRun wide = train_in_vectors({"precision=bf16"}), run = train_in_vectors({}),
                        eight = train_in_vectors({"vs-quant.weight-bits=8",
                                                  "vs-quant.activation-bits=8",
                                                  "vs-quant.scale-bits=8"});
  for (std::size_t i = 0; i < wide.run.losses.size(); ++i) {
    EXPECT_NEAR(run.run.losses[i], wide.run.losses[i], 0.1 * wide.run.losses[i]) << i;
    EXPECT_NEAR(eight.run.losses[i], wide.run.losses[i], 0.01 * wide.run.losses[i]) << i;
  }
  EXPECT_NE(run.run.losses[0], wide.run.losses[0]);
  EXPECT_EQ(train_in_vectors({"vs-quant.bf16-layers=all"}).run.losses, wide.run.losses);
}

TEST(VectorProducts, HoldWhatTheirProgramStates) {
  for (const char* bits : {"vs-quant.activation-bits=4", "vs-quant.activation-bits=3"})
    for (const char* recompute : {"recompute=none", "recompute=selective", "recompute=full"}) {
      const testing::CpuRun run = train_in_vectors({bits, recompute});
      EXPECT_EQ(most_in_vectors(run.run.waves[0]),
                most_in_vectors(memory_wave(run.run.timeline, run.program, DeviceId{0})))
          << bits << " " << recompute;
    }
}

// Rows and channels have scales of their own, so that neither replicas nor stages nor shards change
// a number that is rounded.
TEST(VectorProducts, APlanTrainsAsOneDeviceDoes) {
  const testing::CpuRun one = train_in_vectors({});
  for (const testing::Settings& words : {testing::Settings{"pp=2"},
                                         {"dp=2"},
                                         {"dp=2", "zero=1"},
                                         {"dp=2", "zero=3"},
                                         {"pp=2", "schedule=zb-h1"}}) {
    const testing::CpuRun run = train_in_vectors(words, 2);
    for (std::size_t i = 0; i < one.run.losses.size(); ++i)
      EXPECT_NEAR(run.run.losses[i], one.run.losses[i], 1e-5 * one.run.losses[i])
          << words.back() << " step " << i;
  }
  EXPECT_EQ(train_in_vectors({"recompute=full"}).run.losses, one.run.losses);
}

// Tensor ranks that sum over parts of a channel scale these parts by themselves. Those of sequence
// parallel gather what they kept in bf16, which rounds a product of a code and its scale.
TEST(VectorProducts, TensorRanksTrainNearOneDevice) {
  const testing::CpuRun one = train_in_vectors({}),
                        together = train_in_vectors({"tp=2", "sequence-parallel=off"}, 2),
                        apart = train_in_vectors({"tp=2", "sequence-parallel=on"}, 2);
  for (std::size_t i = 0; i < one.run.losses.size(); ++i) {
    EXPECT_NEAR(together.run.losses[i], one.run.losses[i], 0.02 * one.run.losses[i]) << i;
    EXPECT_NEAR(apart.run.losses[i], together.run.losses[i], 0.01 * one.run.losses[i]) << i;
  }
  EXPECT_EQ(most_in_vectors(apart.run.waves[0]),
            most_in_vectors(memory_wave(apart.run.timeline, apart.program, DeviceId{0})));
}

// A token's row is rounded alike whichever rank its expert is on.
TEST(VectorProducts, ExpertsTrainAsOneDeviceDoes) {
  const Model model = testing::tiny_transformer({.family = "mixtral", .experts = 4});
  const testing::CpuRun one = train_in_vectors({}, 1, model);
  for (const testing::Settings& words : {testing::Settings{"dp=2"}, {"pp=2"}, {"dp=2", "ep=2"}}) {
    const testing::CpuRun run = train_in_vectors(words, 2, model);
    for (std::size_t i = 0; i < one.run.losses.size(); ++i)
      EXPECT_NEAR(run.run.losses[i], one.run.losses[i], 1e-5 * one.run.losses[i])
          << words.back() << " step " << i;
  }
}

// Ten normal clouds in 32 dimensions.
class VectorClouds final : public DataSource {
 public:
  std::string_view name() const override { return "clouds"; }
  std::string provenance() const override { return "made by the test"; }
  std::int64_t samples() const override { return 1 << 20; }
  std::int64_t evaluation_samples() const override { return 10000; }
  Diagnostics check(const Model&) const override { return {}; }
  void fill(const DataRequest& r, std::span<float> out) const override {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::uint64_t sample = number(r, i / 32);
      out[i] = static_cast<float>(0.6 * drawn_normal(Random(31, sample % 10), i % 32) +
                                  drawn_normal(Random(32, sample), i % 32));
    }
  }
  void fill(const DataRequest& r, std::span<std::int64_t> out) const override {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<std::int64_t>(number(r, i) % 10);
  }

 private:
  static std::uint64_t number(const DataRequest& r, std::size_t i) {
    return static_cast<std::uint64_t>(r.first_sample) + i + (r.evaluation ? 1 << 24 : 0);
  }
};

// Four layers of so many units, trained on the clouds.
testing::CpuRun trained_on_clouds(const VectorClouds& source, std::int64_t width,
                                  const testing::Settings& precision) {
  Training training;
  training.rate = 0.05, training.momentum = 0.9, training.steps = 200;
  CpuOptions options;
  options.record_timeline = false;
  testing::Settings words = {"global-batch=64", "micro-batch=64", "optimizer=momentum"};
  words.insert(words.end(), precision.begin(), precision.end());
  return testing::train_on_cpu(build_mlp({"clouds", 32, width, 4, 10}), 1, words, training, options,
                               source);
}

// B-NUM-05: both networks answer in 2 bits; one has been trained in them.
TEST(VectorProducts, TrainingInFewBitsBeatsRoundingAfterwards) {
  const VectorClouds source;
  const testing::CpuRun aware = trained_on_clouds(source, 64,
                                                  {"precision=vs-quant", "vs-quant.weight-bits=2",
                                                   "vs-quant.activation-bits=2"}),
                        whole = trained_on_clouds(source, 64, {});
  const auto accuracy = [&](const testing::CpuRun& run) {
    return answers(aware.workload, run.parameters, source, 0, {.in_precision = true}).accuracy();
  };
  EXPECT_GT(accuracy(aware), accuracy(whole) + 0.01);
}

// Makes the weights that leave one unit in 128 sixteen times as large, and those that enter it as
// much smaller: after a ReLU the network is the same function.
void make_outliers(std::vector<TrainedTensor>& tensors) {
  for (TrainedTensor& before : tensors)
    for (TrainedTensor& after : tensors) {
      if (after.layer != before.layer + 1 || after.shape.size() != 2) continue;
      const auto units = static_cast<std::size_t>(before.shape.back());
      const std::size_t out = after.values.size() / units;
      for (std::size_t i = 0; i < before.values.size(); ++i)
        if (i % units % 128 == 5) before.values[i] /= 16;
      for (std::size_t i = 0; i < after.values.size() && before.shape.size() == 2; ++i)
        if (i / out % 128 == 5) after.values[i] *= 16;
    }
}

// B-NUM-05: weights of 4 bits with outliers.
TEST(VectorProducts, ScalesForVectorsKeepWhatThoseForChannelsLose) {
  const VectorClouds source;
  testing::CpuRun run = trained_on_clouds(source, 128, {});
  const Model& model = run.workload.scenario.model;
  const double before = answers(run.workload, run.parameters, source, 0).accuracy();
  make_outliers(run.parameters);
  const double same = answers(run.workload, run.parameters, source, 0).accuracy();
  EXPECT_NEAR(same, before, 0.001);
  const auto drop = [&](const LossyWeights& loses) {
    std::vector<TrainedTensor> rounded = run.parameters;
    lose(loses, model, rounded);
    return same - answers(run.workload, rounded, source, 0).accuracy();
  };
  const double channel = drop({.bits = 4}),
               vectors = drop({.bits = 4, .group = 16, .scale_bits = 4});
  EXPECT_GT(channel, 0.02);
  EXPECT_LE(vectors, channel / 2);
}

}  // namespace
}  // namespace trainyard
