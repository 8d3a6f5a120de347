// Tests the rules by which a training grows with its batch, on problems whose answer is known
// (Smith et al., "Don't Decay the Learning Rate, Increase the Batch Size", 2018; You et al., "Large
// Batch Training of Convolutional Networks", 2017).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/training/optimizers/optimizer_step.h"

namespace trainyard {
namespace {

// A number of mean 0 and variance 1.
double standard(const Random& random, std::uint64_t i) {
  return std::sqrt(12.0) * (random.uniform(i) - 0.5);
}

// A weight matrix with the state of one optimizer.
class Weights {
 public:
  Weights(const OptimizerRule& rule, std::vector<float> values)
      : rule_(rule), values_(std::move(values)) {
    state_.assign(rule.slots().size(), std::vector<float>(values_.size()));
    for (std::vector<float>& slot : state_) slots_.push_back(slot.data());
  }
  const std::vector<float>& values() const { return values_; }
  void step(const std::vector<float>& gradients, const StepFacts& facts) {
    ParameterPart part;
    part.elements = static_cast<std::int64_t>(values_.size());
    part.weights = values_.data(), part.gradients = gradients.data();
    part.state = slots_;
    rule_.apply(part, facts, rule_.needs_norms() ? rule_.norms(part, facts) : TensorNorms{});
  }

 private:
  const OptimizerRule& rule_;
  std::vector<float> values_;
  std::vector<std::vector<float>> state_;
  std::vector<void*> slots_;
};

// Where momentum descent on h w^2 / 2 stays, when each sample's gradient is h w and noise of unit
// variance: the mean of w^2 over many coordinates, after they have forgotten their start.
double stationary_variance(double rate, int batch) {
  constexpr std::size_t kCoordinates = 4000;
  constexpr int kForget = 400, kSteps = 800;
  constexpr float kCurvature = 1;
  Training training;
  training.momentum = 0.5;
  const auto rule = optimizer_rule("momentum", training, WeightUpdate::Direct);
  Weights weights(*rule, std::vector<float>(kCoordinates));
  std::vector<float> gradients(kCoordinates);
  double sum = 0;
  for (int t = 0; t < kSteps; ++t) {
    const Random random(17, static_cast<std::uint64_t>(t));
    for (std::size_t i = 0; i < kCoordinates; ++i)
      gradients[i] = kCurvature * weights.values()[i] +
                     static_cast<float>(standard(random, i) / std::sqrt(batch));
    weights.step(gradients, {t, rate});
    if (t >= kForget)
      for (const float w : weights.values()) sum += double{w} * w;
  }
  return sum / (double{kCoordinates} * (kSteps - kForget));
}

// B-GRD-02: a batch k times as large leaves as little noise as a rate divided by k.
TEST(NoisyQuadratic, ALargerBatchQuietensAsALowerRateDoes) {
  const double usual = stationary_variance(0.04, 8);
  for (const int times : {2, 5}) {
    const double batch = stationary_variance(0.04, 8 * times),
                 rate = stationary_variance(0.04 / times, 8);
    EXPECT_NEAR(batch / rate, 1, 0.05) << times;
    EXPECT_NEAR(usual / batch, times, 0.05 * times);
  }
}

// Two layers, one of large weights and one of small ones, learn what another such pair computes:
// y = v (u x). The gradient of the small layer is the larger by the square of `kScale`.
class IllScaled {
 public:
  IllScaled(std::string_view optimizer, double rate, double trust)
      : rule_(optimizer_rule(optimizer, training_of(trust), WeightUpdate::Direct)),
        rate_(rate),
        large_(*rule_, start(1, kScale)),
        small_(*rule_, start(2, 1 / kScale)) {}

  /// Epochs until the loss is down to a thousandth of that before training, or nothing where that
  /// does not happen.
  std::optional<int> epochs(int batch, int most) {
    const double first = loss();
    for (int epoch = 1; epoch <= most; ++epoch) {
      for (int sample = 0; sample < kSamples; sample += batch) step(sample, batch);
      const double now = loss();
      if (!std::isfinite(now)) return std::nullopt;
      if (now <= first / 1000) return epoch;
    }
    return std::nullopt;
  }

  /// The ratio of the layers' gradients' norms before training.
  double imbalance() {
    const auto [u, v] = gradients(0, kSamples);
    const auto norm = [](const std::vector<float>& g) {
      return std::sqrt(square_sum(g.data(), DType::F32, static_cast<std::int64_t>(g.size())));
    };
    return norm(v) / norm(u);
  }

 private:
  static constexpr int kIn = 8, kHidden = 8, kSamples = 512;
  static constexpr double kScale = 32;

  static Training training_of(double trust) {
    Training training;
    training.momentum = 0, training.trust = trust;
    return training;
  }
  static std::vector<float> start(std::uint64_t stream, double scale) {
    const int size = stream % 2 == 1 ? kHidden * kIn : kHidden;
    std::vector<float> made;
    for (int i = 0; i < size; ++i)
      made.push_back(static_cast<float>(
          scale * standard(Random(3, stream), static_cast<std::uint64_t>(i)) / std::sqrt(kHidden)));
    return made;
  }
  static double input(int sample, int i) {
    return standard(Random(3, 9), static_cast<std::uint64_t>(sample * kIn + i));
  }

  // Returns the hidden numbers of a sample, and by how much its output misses that of the teacher.
  double miss(int sample, std::array<double, kHidden>& hidden) const {
    static const std::vector<float> teacher_large = start(3, kScale),
                                    teacher_small = start(4, 1 / kScale);
    double out = 0, wanted = 0;
    for (int h = 0; h < kHidden; ++h) {
      const auto at = static_cast<std::size_t>(h);
      double own = 0, theirs = 0;
      for (int i = 0; i < kIn; ++i) {
        const std::size_t w = at * kIn + static_cast<std::size_t>(i);
        own += large_.values()[w] * input(sample, i);
        theirs += teacher_large[w] * input(sample, i);
      }
      hidden[at] = own;
      out += small_.values()[at] * own, wanted += teacher_small[at] * theirs;
    }
    return out - wanted;
  }

  double loss() const {
    double sum = 0;
    std::array<double, kHidden> hidden{};
    for (int sample = 0; sample < kSamples; ++sample) {
      const double off = miss(sample, hidden);
      sum += off * off / 2;
    }
    return sum / kSamples;
  }

  std::pair<std::vector<float>, std::vector<float>> gradients(int first, int batch) const {
    std::vector<float> u(kHidden * kIn), v(kHidden);
    std::array<double, kHidden> hidden{};
    for (int sample = first; sample < first + batch; ++sample) {
      const double off = miss(sample, hidden) / batch;
      for (std::size_t h = 0; h < kHidden; ++h) {
        v[h] += static_cast<float>(off * hidden[h]);
        for (int i = 0; i < kIn; ++i)
          u[h * kIn + static_cast<std::size_t>(i)] +=
              static_cast<float>(off * small_.values()[h] * input(sample, i));
      }
    }
    return {std::move(u), std::move(v)};
  }

  void step(int first, int batch) {
    const auto [u, v] = gradients(first, batch);
    large_.step(u, {0, rate_}), small_.step(v, {0, rate_});
  }

  std::unique_ptr<OptimizerRule> rule_;
  double rate_;
  Weights large_, small_;
};

// B-GRD-02. Descent at the best rate of small batches diverges in batches of 16 times the samples
// at 16 times the rate; LARS needs no more epochs there than in small batches.
TEST(IllScaledLayers, LarsTrainsInLargeBatchesWhereDescentDiverges) {
  constexpr int kSmall = 4, kTimes = 16, kMost = 100;
  EXPECT_GT(IllScaled("momentum", 0, 1).imbalance(), 1000);
  int fewest = kMost;
  double best = 0;
  for (double rate = 1e-5; rate < 0.01; rate *= 2) {
    const int took = IllScaled("momentum", rate, 1).epochs(kSmall, kMost).value_or(kMost);
    if (took < fewest) fewest = took, best = rate;
  }
  ASSERT_LT(fewest, kMost);
  EXPECT_FALSE(IllScaled("momentum", kTimes * best, 1).epochs(kTimes * kSmall, kMost).has_value());
  for (const double rate : {0.001, 0.002}) {
    const auto small = IllScaled("lars", rate, 1).epochs(kSmall, kMost),
               large = IllScaled("lars", kTimes * rate, 1).epochs(kTimes * kSmall, kMost);
    ASSERT_TRUE(small && large) << rate;
    EXPECT_LE(*large, 1.2 * std::min(*small, fewest)) << rate;
  }
}

}  // namespace
}  // namespace trainyard
