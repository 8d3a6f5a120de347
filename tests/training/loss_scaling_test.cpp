// NUM-01: a perceptron whose gradients are 2^-20 of what they should be, in fp16. What fp16 can
// not hold is gone before the update could multiply it back.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/base/random.h"
#include "core/training/optimizers/optimizer_step.h"

namespace trainyard {
namespace {

constexpr std::size_t kIn = 12, kHidden = 24, kClasses = 4, kBatch = 32;
constexpr std::size_t kFirst = kIn * kHidden, kWeights = kFirst + kHidden * kClasses;
constexpr double kSmall = 0x1p-20;

double normal(const Random& random, std::uint64_t i) {
  return std::sqrt(-2 * std::log(1 - random.uniform(2 * i))) *
         std::cos(2 * 3.141592653589793 * random.uniform(2 * i + 1));
}

/// Points around four centres.
struct Sample {
  std::array<float, kIn> x{};
  std::size_t label = 0;
};
Sample sample(std::uint64_t i) {
  const Random random(31, i), centres(32);
  Sample made;
  made.label = static_cast<std::size_t>(random.bits(1000) % kClasses);
  for (std::size_t d = 0; d < kIn; ++d)
    made.x[d] = static_cast<float>(0.9 * normal(centres, made.label * kIn + d) + normal(random, d));
  return made;
}

using PlainWeights = std::vector<float>;

struct Forward {
  std::array<float, kHidden> hidden{};
  std::array<float, kClasses> shares{};
};

Forward forward(const PlainWeights& w, const Sample& s) {
  Forward f;
  for (std::size_t h = 0; h < kHidden; ++h) {
    for (std::size_t d = 0; d < kIn; ++d) f.hidden[h] += w[h * kIn + d] * s.x[d];
    f.hidden[h] = std::max(f.hidden[h], 0.0f);
  }
  float sum = 0;
  for (std::size_t c = 0; c < kClasses; ++c) {
    for (std::size_t h = 0; h < kHidden; ++h)
      f.shares[c] += w[kFirst + c * kHidden + h] * f.hidden[h];
    sum += f.shares[c] = std::exp(f.shares[c]);
  }
  for (float& share : f.shares) share /= sum;
  return f;
}

float half(float x) { return from_f16(to_f16(x)); }

/// The gradient of the mean loss times `factor`, with everything that flows backward in fp16; exact
/// if the factor is 0.
PlainWeights gradient(const PlainWeights& w, std::uint64_t step, float factor) {
  PlainWeights sum(kWeights);
  const bool exact = factor == 0;
  for (std::size_t b = 0; b < kBatch; ++b) {
    const Sample s = sample(step * kBatch + b);
    const Forward f = forward(w, s);
    std::array<float, kHidden> back{};
    for (std::size_t c = 0; c < kClasses; ++c) {
      float miss = (f.shares[c] - (c == s.label ? 1.0f : 0.0f)) / kBatch;
      if (!exact) miss = half(miss * factor);
      for (std::size_t h = 0; h < kHidden; ++h) {
        sum[kFirst + c * kHidden + h] += miss * f.hidden[h];
        back[h] += miss * w[kFirst + c * kHidden + h] * (f.hidden[h] > 0 ? 1.0f : 0.0f);
      }
    }
    for (std::size_t h = 0; h < kHidden; ++h)
      for (std::size_t d = 0; d < kIn; ++d)
        sum[h * kIn + d] += (exact ? back[h] : half(back[h])) * s.x[d];
  }
  if (!exact)
    for (float& x : sum) x = half(x);
  return sum;
}

double accuracy(const PlainWeights& w) {
  int right = 0;
  constexpr int kTests = 4000;
  for (std::uint64_t i = 0; i < kTests; ++i) {
    const Sample s = sample((std::uint64_t{1} << 40) + i);
    const Forward f = forward(w, s);
    right += static_cast<std::size_t>(std::max_element(f.shares.begin(), f.shares.end()) -
                                      f.shares.begin()) == s.label;
  }
  return 100.0 * right / kTests;
}

struct Trained {
  double accuracy = 0;
  std::int64_t skipped = 0;
};

/// loss_scale 0: all in fp32, gradients of their right size.
Trained train(double loss_scale, std::int64_t window) {
  Training training;
  training.momentum = 0.9, training.scale_window = window;
  const bool narrowed = loss_scale > 0;
  training.loss_scale = narrowed ? loss_scale : 1;
  const auto rule =
      optimizer_rule("momentum", training, narrowed ? WeightUpdate::Master : WeightUpdate::Direct);
  PlainWeights weights(kWeights), velocity(kWeights);
  for (std::size_t i = 0; i < kWeights; ++i)
    weights[i] = static_cast<float>(0.3 * normal(Random(33), i));
  std::vector<std::uint16_t> narrow(kWeights);
  to_f16(weights, narrow.data());
  void* state[] = {velocity.data()};
  LossScaler scaler(training);
  for (std::int64_t t = 0; t < 250; ++t) {
    PlainWeights seen = weights;
    if (narrowed) from_f16(narrow, seen.data());
    const PlainWeights g = gradient(seen, static_cast<std::uint64_t>(t),
                                    narrowed ? static_cast<float>(kSmall * scaler.scale()) : 0);
    StepFacts facts{t, 0.02, 1};
    if (narrowed) {
      facts.gradient_scale = 1 / (kSmall * scaler.scale());
      if (!scaler.update(!std::isfinite(square_sum(g.data(), DType::F32, kWeights)))) continue;
    }
    ParameterPart part;
    part.elements = kWeights;
    part.gradients = g.data();
    part.state = state;
    part.weights =
        narrowed ? static_cast<void*>(narrow.data()) : static_cast<void*>(weights.data());
    part.weight_type = narrowed ? DType::F16 : DType::F32;
    part.master = narrowed ? weights.data() : nullptr;
    rule->apply(part, facts, {});
  }
  return {accuracy(weights), scaler.skipped()};
}

TEST(LossScaling, BringsBackWhatFp16CannotHold) {
  const double whole = train(0, 0).accuracy, unscaled = train(1, 0).accuracy;
  EXPECT_GT(whole, 85);
  EXPECT_LT(unscaled, whole - 10);
  EXPECT_NEAR(train(0x1p20, 0).accuracy, whole, 0.3);
  // Dynamic, from far too high and from far too low.
  const Trained high = train(0x1p40, 1000);
  EXPECT_NEAR(high.accuracy, whole, 0.3);
  EXPECT_GT(high.skipped, 0);
  EXPECT_LT(high.skipped, 40);
}

}  // namespace
}  // namespace trainyard
