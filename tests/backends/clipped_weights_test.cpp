// Tests what flipped bits cost a network, and what clipped weights save of it: B-NUM-06.
#include <gtest/gtest.h>

#include <string>

#include "backends/cpu/execution/evaluation.h"
#include "core/base/drawn_normal.h"
#include "core/quality/quality_gate.h"
#include "core/training/lossy_weights.h"
#include "tests/support/cpu_training.h"

namespace trainyard {
namespace {

constexpr std::int64_t kCloudWidth = 32, kClasses = 10;

// Ten normal clouds, whose centres are drawn by a normal law too.
class Clouds final : public DataSource {
 public:
  std::string_view name() const override { return "clouds"; }
  std::string provenance() const override { return "made by the test"; }
  std::int64_t samples() const override { return 1 << 20; }
  std::int64_t evaluation_samples() const override { return 1000; }
  Diagnostics check(const Model&) const override { return {}; }
  void fill(const DataRequest& r, std::span<float> out) const override {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto feature = i % kCloudWidth;
      const std::uint64_t sample = number(r, i / kCloudWidth);
      const double centre = drawn_normal(Random(21, class_of(sample)), feature);
      out[i] = static_cast<float>(centre + drawn_normal(Random(22, sample), feature));
    }
  }
  void fill(const DataRequest& r, std::span<std::int64_t> out) const override {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<std::int64_t>(class_of(number(r, i)));
  }

 private:
  static std::uint64_t number(const DataRequest& r, std::size_t i) {
    constexpr std::uint64_t kEvaluation = 1 << 24;
    return static_cast<std::uint64_t>(r.first_sample) + i + (r.evaluation ? kEvaluation : 0);
  }
  static std::uint64_t class_of(std::uint64_t sample) {
    return Random(23, sample).bits(0) % kClasses;
  }
};

// The errors of so many chips at a rate.
ChipErrors errors_at(double rate, const testing::CpuRun& run, const DataSource& source,
                     std::uint64_t chips) {
  const Model& model = run.workload.scenario.model;
  const LossyWeights memory{.bits = 8, .bit_errors = rate};
  std::vector<TrainedTensor> stored = run.parameters;
  lose(memory, model, stored);
  std::vector<double> errors;
  for (std::uint64_t chip = 0; chip < chips; ++chip) {
    std::vector<TrainedTensor> weights = stored;
    flip_bits(memory, chip, weights);
    errors.push_back(1 - answers(run.workload, weights, source, 1000).accuracy());
  }
  return chip_errors(errors);
}

// Three networks, since one errs in so few of a thousand samples that chance decides.
TEST(ClippedWeights, LoseLittleToFlippedBits) {
  const Clouds source;
  const Model model = build_mlp({"clouds", kCloudWidth, 128, 6, kClasses});
  constexpr double kRate = 0.025;
  constexpr std::uint64_t kNetworks = 3, kChips = 17;
  double clean = 0, clean_clipped = 0, normal_errors = 0, clipped_errors = 0;
  for (std::uint64_t seed = 1; seed <= kNetworks; ++seed)
    for (const double clip : {0.0, 0.15}) {
      Training training;
      training.rate = 0.02, training.momentum = 0.9, training.steps = 600;
      training.seed = seed, training.weight_clip = clip;
      CpuOptions options;
      options.record_timeline = false;
      const testing::CpuRun run = testing::train_on_cpu(
          model, 1, {"global-batch=64", "micro-batch=64", "optimizer=momentum"}, training, options,
          source);
      (clip > 0 ? clean_clipped : clean) += errors_at(0, run, source, 1).mean / kNetworks;
      (clip > 0 ? clipped_errors : normal_errors) +=
          errors_at(kRate, run, source, kChips).mean / kNetworks;
    }
  RecordProperty("clean", std::to_string(clean));
  RecordProperty("clean-clipped", std::to_string(clean_clipped));
  RecordProperty("normal", std::to_string(normal_errors));
  RecordProperty("clipped", std::to_string(clipped_errors));
  EXPECT_GT(clean, 0);
  EXPECT_LE(clipped_errors, 2 * clean_clipped);
  EXPECT_GE(normal_errors, 2 * clipped_errors);
  EXPECT_GE(normal_errors, 5 * clean);
  EXPECT_LE(clean_clipped - clean, 0.005);
}

// RandBET: a network that was trained against flipped bits errs less where bits flip than one whose
// weights were 8-bit codes all the same, without clipping either.
TEST(RandomBitErrors, InTrainingSaveErrorsInMemory) {
  const Clouds source;
  const Model model = build_mlp({"clouds", kCloudWidth, 128, 6, kClasses});
  constexpr double kRate = 0.025, kNever = 1e-12;
  const auto errors_after = [&](double trained_against) {
    Training training;
    training.rate = 0.01, training.momentum = 0.9, training.steps = 600;
    training.bit_errors = trained_against;
    CpuOptions options;
    options.record_timeline = false;
    const testing::CpuRun run =
        testing::train_on_cpu(model, 1, {"global-batch=64", "micro-batch=32", "optimizer=momentum"},
                              training, options, source);
    EXPECT_LE(errors_at(0, run, source, 1).mean, 0.02);
    return errors_at(kRate, run, source, 50).mean;
  };
  const double plain = errors_after(kNever), against = errors_after(kRate);
  RecordProperty("plain", std::to_string(plain));
  RecordProperty("against", std::to_string(against));
  EXPECT_LE(against, plain / 2);
}

}  // namespace
}  // namespace trainyard
