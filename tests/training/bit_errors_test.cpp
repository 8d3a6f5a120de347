// Tests the robust quantiser and the injector of bit errors, as far as they go without a training:
// B-NUM-06.
#include "core/training/numbers/bit_errors.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace trainyard {
namespace {

std::int64_t set_bits(const std::vector<std::uint8_t>& words) {
  std::int64_t count = 0;
  for (const std::uint8_t word : words) count += std::popcount(word);
  return count;
}

TEST(BitErrors, CodesAreThoseOfTheFormula) {
  // n = 2 (w + 0.5) / 2 - 1, and 127 n + 127.
  const RobustQuantiser q = robust_quantiser(8, std::vector<float>{-0.5f, 1.5f, 0.25f});
  EXPECT_EQ(q.low, -0.5);
  EXPECT_EQ(q.high, 1.5);
  EXPECT_EQ(q.code(-0.5f), 0);
  EXPECT_EQ(q.code(0.5f), 127);
  EXPECT_EQ(q.code(1.5f), 254);
  EXPECT_EQ(q.code(0.25f), 95);  // 127 * 0.75 = 95.25
  EXPECT_EQ(q.number(254), 1.5f);
  EXPECT_EQ(q.number(127), 0.5f);
  EXPECT_FLOAT_EQ(q.number(255), static_cast<float>(0.5 + 128.0 / 127));
  // A tensor of equal numbers has a range too.
  const RobustQuantiser flat = robust_quantiser(4, std::vector<float>{2, 2});
  EXPECT_EQ(flat.high, 2 + kLeastRange);
  EXPECT_EQ(flat.number(flat.code(2)), 2.0f);
}

RC_GTEST_PROP(BitErrors, RoundingIsOffByHalfAStepAtMost, (std::vector<int> drawn)) {
  const int bits = *rc::gen::inRange(2, 9);
  std::vector<float> weights;
  for (const int one : drawn) weights.push_back(static_cast<float>(one % 1000) / 128);
  const RobustQuantiser q = robust_quantiser(bits, weights);
  const double step = (q.high - q.low) / ((1 << bits) - 2);
  std::vector<float> stored = weights;
  store_with_errors(bits, {}, stored);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    RC_ASSERT(q.code(weights[i]) <= (1 << bits) - 2);
    RC_ASSERT(std::abs(double{stored[i]} - double{weights[i]}) <= step / 2 * (1 + 1e-6) + 1e-6);
  }
}

RC_GTEST_PROP(BitErrors, WhatIsStoredStaysWhenItIsStoredAgain, (std::vector<int> drawn)) {
  const int bits = *rc::gen::inRange(2, 9);
  std::vector<float> once;
  for (const int one : drawn) once.push_back(static_cast<float>(one % 1000) / 77);
  store_with_errors(bits, {}, once);
  std::vector<float> twice = once;
  store_with_errors(bits, {}, twice);
  RC_ASSERT(once == twice);
}

TEST(BitErrors, RateIsThatOfTheDrawsWithinThreeDeviations) {
  constexpr std::size_t kWords = 250'000;
  for (const int bits : {4, 8})
    for (const double rate : {0.001, 0.01, 0.025, 0.5}) {
      std::vector<std::uint8_t> words(kWords);
      flip_bits({rate, 7, 3}, bits, words);
      const double all = static_cast<double>(kWords) * bits;
      EXPECT_NEAR(static_cast<double>(set_bits(words)), all * rate,
                  3 * std::sqrt(all * rate * (1 - rate)))
          << bits << " bits at " << rate;
      for (const std::uint8_t word : words) ASSERT_LT(word, 1 << bits);
    }
}

RC_GTEST_PROP(BitErrors, ErrorsAtALowerRateAreAmongThoseAtAHigherOne,
              (std::uint64_t chip, std::uint64_t tensor)) {
  const double high = *rc::gen::inRange(0, 1001) / 1000.0,
               low = high * *rc::gen::inRange(0, 1001) / 1000.0;
  std::vector<std::uint8_t> few(500), many(500);
  flip_bits({low, chip, tensor}, 8, few);
  flip_bits({high, chip, tensor}, 8, many);
  for (std::size_t i = 0; i < few.size(); ++i) RC_ASSERT((few[i] & ~many[i]) == 0);
  RC_ASSERT(low > 0 || set_bits(few) == 0);
  RC_ASSERT(high < 1 || set_bits(many) == 4000);
  flip_bits({high, chip, tensor}, 8, many);
  RC_ASSERT(set_bits(many) == 0);
}

TEST(BitErrors, ChipsAndTensorsFailInOtherPlaces) {
  std::vector<std::uint8_t> first(1000), chip(1000), tensor(1000);
  flip_bits({0.1, 1, 1}, 8, first);
  flip_bits({0.1, 2, 1}, 8, chip);
  flip_bits({0.1, 1, 2}, 8, tensor);
  EXPECT_NE(first, chip);
  EXPECT_NE(first, tensor);
  EXPECT_NE(chip, tensor);
}

}  // namespace
}  // namespace trainyard
