// Tests whole numbers with scales for vectors of a line: B-NUM-05.
#include "core/training/numbers/vector_scales.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/drawn_normal.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

constexpr Lines kMatrix{32, 2048, 1};

std::vector<float> normal_numbers(std::int64_t count, std::uint64_t seed) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(drawn_normal(Random(seed, 0), i));
  return numbers;
}

// Two numbers in a thousand are eight times as large.
std::vector<float> numbers_with_outliers(std::int64_t count, std::uint64_t seed) {
  std::vector<float> numbers = normal_numbers(count, seed);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (Random(seed, 1).uniform(i) < 0.002) numbers[i] *= 8;
  return numbers;
}

double decibels(const VectorScales& how, const std::vector<float>& exact) {
  std::vector<float> rounded = exact;
  round_to_vectors(how, kMatrix, rounded);
  return signal_to_noise(exact, rounded);
}

struct DrawnVectors {
  VectorScales how;
  Lines lines;
  std::vector<float> values;
};

DrawnVectors drawn_vectors(int scale_bits) {
  DrawnVectors drawn;
  drawn.how = {.bits = *rc::gen::inRange(2, 9),
               .vector = *rc::gen::inRange<std::int64_t>(0, 7),
               .scale_bits = scale_bits,
               .is_signed = *rc::gen::arbitrary<bool>()};
  drawn.lines = {*rc::gen::inRange<std::int64_t>(1, 4), *rc::gen::inRange<std::int64_t>(1, 20),
                 *rc::gen::inRange<std::int64_t>(1, 4)};
  drawn.values = *rc::gen::container<std::vector<float>>(
      static_cast<std::size_t>(drawn.lines.elements()),
      rc::gen::map(rc::gen::inRange(drawn.how.is_signed ? -1000 : 0, 1001),
                   [](int i) { return static_cast<float>(i) / 256; }));
  return drawn;
}

// The largest number of vector v of line (o, j), found without the code under test.
double largest_of(const DrawnVectors& d, std::int64_t o, std::int64_t v, std::int64_t j) {
  const std::int64_t each = d.how.vector > 0 ? d.how.vector : d.lines.length;
  double largest = 0;
  for (std::int64_t i = v * each; i < std::min(d.lines.length, (v + 1) * each); ++i)
    largest = std::max(
        largest,
        std::abs(double{
            d.values[static_cast<std::size_t>((o * d.lines.length + i) * d.lines.inner + j)]}));
  return largest;
}

RC_GTEST_PROP(VectorScales, FloatScalesLoseAtMostHalfAStepOfTheirOwnVector, ()) {
  const DrawnVectors d = drawn_vectors(0);
  std::vector<float> after = d.values;
  round_to_vectors(d.how, d.lines, after);
  const std::int64_t each = d.how.vector > 0 ? d.how.vector : d.lines.length;
  for (std::int64_t o = 0; o < d.lines.outer; ++o)
    for (std::int64_t i = 0; i < d.lines.length; ++i)
      for (std::int64_t j = 0; j < d.lines.inner; ++j) {
        const auto e = static_cast<std::size_t>((o * d.lines.length + i) * d.lines.inner + j);
        RC_ASSERT(std::abs(double{after[e]} - double{d.values[e]}) <=
                  largest_of(d, o, i / each, j) / d.how.most() / 2 + 1e-6);
      }
}

// A scale of few bits is that of its vector rounded up to a multiple of gamma, so that no number is
// clipped.
RC_GTEST_PROP(VectorScales, TwoLevelsRoundScalesUpAndClipNothing, ()) {
  const DrawnVectors d = drawn_vectors(*rc::gen::inRange(1, 11));
  const VectorCodes made = to_vectors(d.how, d.lines, d.values.data());
  const std::int64_t vectors = vectors_in_line(d.how, d.lines);
  RC_ASSERT(static_cast<std::int64_t>(made.whole.size()) ==
            d.lines.outer * vectors * d.lines.inner);
  const int most_scale = (1 << d.how.scale_bits) - 1;
  for (std::int64_t o = 0; o < d.lines.outer; ++o)
    for (std::int64_t j = 0; j < d.lines.inner; ++j) {
      const double gamma = made.line[static_cast<std::size_t>(o * d.lines.inner + j)];
      int largest = 0;
      for (std::int64_t v = 0; v < vectors; ++v) {
        const auto at = static_cast<std::size_t>((o * vectors + v) * d.lines.inner + j);
        const double own = largest_of(d, o, v, j) / d.how.most(), whole = made.whole[at];
        RC_ASSERT(whole <= most_scale);
        RC_ASSERT(whole * gamma >= own * (1 - 1e-6));
        RC_ASSERT(whole * gamma < own + gamma * (1 + 1e-4) || own == 0);
        largest = std::max(largest, static_cast<int>(whole));
      }
      RC_ASSERT(largest == (gamma > 0 ? most_scale : 0));
    }
  std::vector<float> after = d.values;
  from_vectors(d.how, d.lines, made.codes, made.scales, after.data());
  for (std::size_t e = 0; e < after.size(); ++e) {
    RC_ASSERT(std::abs(made.codes[e]) <= d.how.most());
    RC_ASSERT(d.how.is_signed || made.codes[e] >= 0);
  }
  const std::int64_t each = d.how.vector > 0 ? d.how.vector : d.lines.length;
  for (std::int64_t o = 0; o < d.lines.outer; ++o)
    for (std::int64_t i = 0; i < d.lines.length; ++i)
      for (std::int64_t j = 0; j < d.lines.inner; ++j) {
        const auto e = static_cast<std::size_t>((o * d.lines.length + i) * d.lines.inner + j);
        const double scale =
            made.scales[static_cast<std::size_t>((o * vectors + i / each) * d.lines.inner + j)];
        RC_ASSERT(std::abs(double{after[e]} - double{d.values[e]}) <= scale / 2 + 1e-6);
      }
}

// A line that vectors do not divide has the codes and scales of one that zeros fill up.
RC_GTEST_PROP(VectorScales, ALastShortVectorIsOneThatZerosFillUp, ()) {
  DrawnVectors d = drawn_vectors(4);
  d.how.vector = *rc::gen::inRange<std::int64_t>(1, 9);
  const std::int64_t vectors = vectors_in_line(d.how, d.lines);
  const Lines padded{d.lines.outer, vectors * d.how.vector, d.lines.inner};
  std::vector<float> filled(static_cast<std::size_t>(padded.elements()));
  for (std::int64_t o = 0; o < d.lines.outer; ++o)
    std::copy_n(d.values.begin() + o * d.lines.length * d.lines.inner,
                d.lines.length * d.lines.inner, filled.begin() + o * padded.length * padded.inner);
  const VectorCodes own = to_vectors(d.how, d.lines, d.values.data()),
                    whole = to_vectors(d.how, padded, filled.data());
  RC_ASSERT(own.scales == whole.scales);
  RC_ASSERT(own.whole == whole.whole);
  RC_ASSERT(own.line == whole.line);
  for (std::int64_t o = 0; o < d.lines.outer; ++o)
    for (std::int64_t i = 0; i < d.lines.length * d.lines.inner; ++i)
      RC_ASSERT(own.codes[static_cast<std::size_t>(o * d.lines.length * d.lines.inner + i)] ==
                whole.codes[static_cast<std::size_t>(o * padded.length * padded.inner + i)]);
}

RC_GTEST_PROP(VectorScales, PackedCodesComeBack, ()) {
  const DrawnVectors d = drawn_vectors(4);
  const VectorCodes made = to_vectors(d.how, d.lines, d.values.data());
  const std::size_t bytes = (made.codes.size() * static_cast<std::size_t>(d.how.bits) + 7) / 8;
  std::vector<std::uint8_t> packed(bytes + 1, 0xa5);
  pack_codes(d.how, made.codes, packed.data());
  RC_ASSERT(packed.back() == 0xa5);
  std::vector<std::int16_t> back(made.codes.size());
  unpack_codes(d.how, packed.data(), back);
  RC_ASSERT(back == made.codes);
}

// B-NUM-05: the product in whole numbers is that of the numbers which codes stand for.
RC_GTEST_PROP(VectorScales, WholeProductsAreThoseOfTheNumbersTheyStandFor, ()) {
  DrawnVectors a = drawn_vectors(*rc::gen::inRange(1, 11)), b = drawn_vectors(4);
  b.how.vector = a.how.vector, b.lines.length = a.lines.length;
  b.values = *rc::gen::container<std::vector<float>>(
      static_cast<std::size_t>(b.lines.elements()),
      rc::gen::map(rc::gen::inRange(b.how.is_signed ? -999 : 0, 1000),
                   [](int i) { return static_cast<float>(i) / 7; }));
  const VectorCodes whole_a = to_vectors(a.how, a.lines, a.values.data()),
                    whole_b = to_vectors(b.how, b.lines, b.values.data());
  std::vector<float> from_a = a.values, from_b = b.values;
  from_vectors(a.how, a.lines, whole_a.codes, whole_a.scales, from_a.data());
  from_vectors(b.how, b.lines, whole_b.codes, whole_b.scales, from_b.data());
  for (std::int64_t i = 0; i < a.lines.outer * a.lines.inner; ++i)
    for (std::int64_t j = 0; j < b.lines.outer * b.lines.inner; ++j) {
      double sum = 0, sizes = 0;
      for (std::int64_t k = 0; k < a.lines.length; ++k) {
        const double product =
            double{from_a[static_cast<std::size_t>(
                (i / a.lines.inner * a.lines.length + k) * a.lines.inner + i % a.lines.inner)]} *
            double{from_b[static_cast<std::size_t>(
                (j / b.lines.inner * b.lines.length + k) * b.lines.inner + j % b.lines.inner)]};
        sum += product, sizes += std::abs(product);
      }
      RC_ASSERT(std::abs(whole_product(a.how, a.lines, whole_a, i, b.how, b.lines, whole_b, j) -
                         sum) <= 1e-6 * sizes);
    }
}

TEST(VectorScales, OneVectorByHand) {
  // Scales 7/7 and 1.5/7; gamma 1/3 in two bits: 3 and ceil(0.643) = 1.
  const std::vector<float> values = {7, -3.4f, 1.5f, -0.5f};
  const VectorCodes made =
      to_vectors({.bits = 4, .vector = 2, .scale_bits = 2}, {1, 4, 1}, values.data());
  EXPECT_EQ(made.codes, (std::vector<std::int16_t>{7, -3, 4, -2}));
  EXPECT_EQ(made.whole, (std::vector<std::uint16_t>{3, 1}));
  EXPECT_FLOAT_EQ(made.line[0], 1.0F / 3);
  EXPECT_FLOAT_EQ(made.scales[1], 1.0F / 3);
}

TEST(VectorScales, WithoutASignThereAreTwiceAsManyStepsAndNothingBelowZero) {
  const std::vector<float> values = {15, 8.6f, -2, 0};
  const VectorCodes made = to_vectors({.bits = 4, .vector = 4, .scale_bits = 0, .is_signed = false},
                                      {1, 4, 1}, values.data());
  EXPECT_EQ(made.codes, (std::vector<std::int16_t>{15, 9, 0, 0}));
  EXPECT_TRUE(made.whole.empty());
}

TEST(VectorScales, ANumberThatIsNotFiniteMakesItsLineNoNumber) {
  for (const float wrong :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const std::int64_t inner : {1, 2}) {
      const Lines lines{2, 4, inner};
      std::vector<float> values(static_cast<std::size_t>(lines.elements()), 1);
      values[0] = wrong;
      round_to_vectors({.bits = 4, .vector = 2, .scale_bits = 4}, lines, values);
      for (std::int64_t i = 0; i < lines.length; ++i)
        EXPECT_TRUE(std::isnan(values[static_cast<std::size_t>(i * inner)])) << i;
      EXPECT_EQ(values.back(), 1);
      EXPECT_EQ(std::isnan(values[1]), inner == 1);  // of the same line, or of the one beside it
    }
  }
}

TEST(VectorScales, ProductsOfOtherLinesAreRefused) {
  const std::vector<float> values(8, 1);
  const VectorScales how{.vector = 4}, floats{.vector = 4, .scale_bits = 0};
  const VectorCodes eight = to_vectors(how, {1, 8, 1}, values.data()),
                    four = to_vectors(how, {2, 4, 1}, values.data()),
                    one_level = to_vectors(floats, {1, 8, 1}, values.data());
  EXPECT_NE(
      testing::refusal([&] { whole_product(how, {1, 8, 1}, eight, 0, how, {2, 4, 1}, four, 0); }),
      "accepted");
  EXPECT_NE(testing::refusal(
                [&] { whole_product(how, {1, 8, 1}, eight, 0, floats, {1, 8, 1}, one_level, 0); }),
            "accepted");
}

// B-NUM-05, on numbers of a normal law and on those with outliers.
TEST(VectorScales, VectorsKeepMoreThanChannelsAtFourBits) {
  const std::vector<float> normal = normal_numbers(kMatrix.elements(), 1),
                           outliers = numbers_with_outliers(kMatrix.elements(), 2);
  const VectorScales channel{.bits = 4, .vector = 0, .scale_bits = 0},
      vectors{.bits = 4, .vector = 16, .scale_bits = 0};
  EXPECT_GE(decibels(vectors, normal) - decibels(channel, normal), 3);
  EXPECT_GE(decibels(vectors, outliers) - decibels(channel, outliers), 8);
  EXPECT_NEAR(decibels(vectors, normal), 21.3, 0.3);
}

TEST(VectorScales, ScalesOfFourBitsLoseAtMostOneAndAHalfDecibels) {
  for (const bool outliers : {false, true}) {
    const std::vector<float> numbers = outliers ? numbers_with_outliers(kMatrix.elements(), 3)
                                                : normal_numbers(kMatrix.elements(), 3);
    for (int bits = 4; bits <= 8; ++bits) {
      const double floats = decibels({.bits = bits, .vector = 16, .scale_bits = 0}, numbers),
                   whole = decibels({.bits = bits, .vector = 16, .scale_bits = 4}, numbers);
      EXPECT_GE(whole, floats - 1.5) << bits;
      EXPECT_GE(whole, decibels({.bits = bits, .vector = 0, .scale_bits = 0}, numbers) + 3) << bits;
    }
  }
}

TEST(VectorScales, SignalToNoiseIsOfSumsOfSquares) {
  const std::vector<float> exact = {3, 4}, rounded = {3, 3.5f}, none = {0, 0};
  EXPECT_NEAR(signal_to_noise(exact, rounded), 20, 1e-9);
  EXPECT_EQ(signal_to_noise(exact, exact), std::numeric_limits<double>::infinity());
  EXPECT_EQ(signal_to_noise(none, exact), -std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace trainyard
