// Autoflex alone: its prediction against the formula, its first exponent, what it does after
// saturation, and bar B-NUM-03 on a maximum that drifts.
#include "core/training/numbers/autoflex.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/random.h"

namespace trainyard {
namespace {

RC_GTEST_PROP(Flex16, MantissasAreTheNearestIntegersAndSaturate, (const std::vector<int>& parts)) {
  const float step = std::ldexp(1.0F, *rc::gen::inRange(kLeastFlexExponent, kMostFlexExponent + 1));
  std::vector<float> numbers;
  for (const int part : parts) numbers.push_back(static_cast<float>(part % 80000) * 0.75F * step);
  std::vector<std::int16_t> mantissas(numbers.size());
  std::vector<float> back(numbers.size());
  to_flex(numbers, step, mantissas.data());
  from_flex(mantissas, step, back.data());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double steps = std::abs(double{numbers[i]}) / double{step};
    if (steps >= kLargestMantissa)
      RC_ASSERT(std::abs(mantissas[i]) == kLargestMantissa);
    else
      RC_ASSERT(std::abs(back[i] - numbers[i]) <= step / 2);
    if (steps - std::floor(steps) == 0.5 && steps < kLargestMantissa)
      RC_ASSERT(mantissas[i] % 2 == 0);
    RC_ASSERT(back[i] == 0 || std::signbit(back[i]) == std::signbit(numbers[i]));
  }
  std::vector<std::int16_t> again(numbers.size());
  to_flex(back, step, again.data());
  RC_ASSERT(again == mantissas);
}

TEST(Flex16, WhatIsNoNumberSaturates) {
  const std::vector<float> numbers = {std::numeric_limits<float>::quiet_NaN(), INFINITY, -INFINITY};
  std::vector<std::int16_t> mantissas(3);
  to_flex(numbers, 1, mantissas.data());
  EXPECT_EQ(std::abs(mantissas[0]), kLargestMantissa);
  EXPECT_EQ(mantissas[1], kLargestMantissa);
  EXPECT_EQ(mantissas[2], -kLargestMantissa);
}

// One bit stays spare, but for what 32 mantissa steps round: the largest mantissa is among 2^13 to
// 2^14, wherever 5 bits reach.
RC_GTEST_PROP(Autoflex, TheFirstExponentLeavesOneBitSpare, ()) {
  const double exponent = *rc::gen::inRange(-19000, 9999) / 1000.0;
  const auto largest = static_cast<float>(std::exp2(exponent));
  const FirstFlexStep first = first_flex_step(largest);
  RC_ASSERT(largest / first.step > (1 << 13) * 0.98);
  RC_ASSERT(largest / first.step <= (1 << 14) * 1.02);
  RC_ASSERT(first.uses <= 5);
}

TEST(Autoflex, TheFirstExponentStaysWithinFiveBits) {
  EXPECT_EQ(first_flex_step(0).step, std::ldexp(1.0F, kLeastFlexExponent));
  EXPECT_EQ(first_flex_step(1e30F).step, std::ldexp(1.0F, kMostFlexExponent));
  EXPECT_EQ(kMostFlexExponent - kLeastFlexExponent + 1, 1 << 5);
}

// The prediction of the last 16 maxima by its formula, over maxima that never saturate.
RC_GTEST_PROP(Autoflex, PredictsByItsFormula, ()) {
  const auto sizes = *rc::gen::container<std::vector<int>>(40, rc::gen::inRange(1000, 1400));
  Autoflex flex;
  std::vector<double> seen;
  double step = first_flex_step(static_cast<float>(sizes[0]) / 1024).step;
  for (const int numerator : sizes) {
    const double size = numerator / 1024.0;  // far from the last of the 32 exponents
    flex.see(static_cast<float>(size));
    RC_ASSERT(flex.saturated() == 0);
    seen.push_back(std::nearbyint(size / step) * step);
    const auto first = seen.end() - std::min<std::ptrdiff_t>(16, std::ssize(seen));
    const auto count = static_cast<double>(seen.end() - first);
    double sum = 0, squares = 0;
    for (auto it = first; it != seen.end(); ++it) sum += *it;
    for (auto it = first; it != seen.end(); ++it) squares += std::pow(*it - sum / count, 2);
    const double chi =
        2 * *std::max_element(first, seen.end()) + 3 * std::sqrt(squares / count) + 100 * step;
    step = std::exp2(std::ceil(std::log2(chi)) - 15);
    RC_ASSERT(flex.step() == static_cast<float>(step));
  }
}

// After saturation the size is unknown: the past is forgotten, and twice the range stands in.
TEST(Autoflex, ForgetsThePastAfterSaturation) {
  Autoflex flex;
  for (int i = 0; i < 20; ++i) flex.see(1);
  const float before = flex.range();
  EXPECT_GE(before, 2.0F);
  EXPECT_LT(before, 4.1F);
  flex.see(1000);
  EXPECT_EQ(flex.saturated(), 1);
  // 2 x (2 x range) + 100 steps is more than 4 ranges and less than 8.
  EXPECT_EQ(flex.step(), 8 * before / kLargestMantissa);
  // Nothing of the size 1 is left, and a falling size brings the step down at once but for gamma.
  const float high = flex.step();
  flex.see(8);
  EXPECT_LE(flex.step(), high);
}

// A tensor that has vanished lets the step fall by 2^8 a use: 100 steps are less than 2^7, and a
// range is 2^15 of them.
TEST(Autoflex, AVanishedTensorLetsTheStepFallSlowly) {
  Autoflex flex;
  for (std::size_t i = 0; i < Autoflex::kUses; ++i) flex.see(1);
  const float before = flex.step();
  for (std::size_t i = 0; i < Autoflex::kUses - 1; ++i) flex.see(0);
  EXPECT_GE(flex.step(), before);  // 1 is still remembered, and zeros beside it deviate
  const float last = flex.step();
  flex.see(0);
  EXPECT_EQ(flex.step(), last / 256);
}

double normal_number(const Random& random, std::uint64_t i) {
  return std::sqrt(-2 * std::log(1 - random.uniform(2 * i))) *
         std::cos(6.283185307179586 * random.uniform(2 * i + 1));
}

struct DriftingUse {
  double saturated = 0, bits = 0;
};
// The maximum of a tensor over 3,000 steps: log-normal around a median that walks, 0.03 octaves a
// step, and falls by 8 octaves all in all, as gradients do.
DriftingUse on_a_drifting_maximum(const AutoflexFactors& factors, std::uint64_t seed) {
  const Random random(seed);
  Autoflex flex(factors);
  double median = 0;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    median += 0.03 * normal_number(random, 2 * i) - 8.0 / 3000;
    flex.see(static_cast<float>(std::exp2(median + 0.25 * normal_number(random, 2 * i + 1))));
  }
  return {static_cast<double>(flex.saturated()) / static_cast<double>(flex.uses()),
          flex.mean_bits()};
}

// Bar B-NUM-03: overflow at most 1e-3 of uses, at least 12 of 15 bits used; the margin that alpha
// and beta are is worth its bit.
TEST(Autoflex, OverflowsAtMostOnceInAThousandUsesOnADriftingMaximum) {
  double without = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const DriftingUse use = on_a_drifting_maximum({}, seed),
                      bare = on_a_drifting_maximum({1, 0, 0}, seed);
    EXPECT_LE(use.saturated, 1e-3) << seed;
    EXPECT_GE(use.bits, 12) << seed;
    EXPECT_GT(bare.bits, use.bits) << seed;
    without += bare.saturated / 10;
  }
  EXPECT_GT(without, 1e-3);
}

// Factors of 0 predict a size of 0, for which the least step is fine enough.
TEST(Autoflex, PredictsNothingAsTheLeastStep) {
  Autoflex flex({0, 0, 0});
  flex.see(1);
  EXPECT_EQ(flex.step(), std::ldexp(1.0F, kLeastFlexExponent));
}

TEST(Autoflex, GoesOnFromItsStateWithTheSameSteps) {
  const Random random(4);
  Autoflex whole, first, second;
  const auto size = [&](std::uint64_t i) {
    return static_cast<float>(std::exp2(2 * normal_number(random, i)));
  };
  for (std::uint64_t i = 0; i < 60; ++i) {
    whole.see(size(i));
    Autoflex& part = i < 23 ? first : second;
    part.see(size(i));
    if (i != 22) continue;
    const std::string bytes = first.state();
    std::string_view rest = bytes;
    ASSERT_TRUE(second.restore(rest));
    EXPECT_TRUE(rest.empty());
    std::string_view few = std::string_view(bytes).substr(0, bytes.size() - 1);
    Autoflex none;
    EXPECT_FALSE(none.restore(few));
  }
  EXPECT_EQ(second.step(), whole.step());
  EXPECT_EQ(second.state(), whole.state());
}

}  // namespace
}  // namespace trainyard
