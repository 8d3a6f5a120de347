// Exponent histograms against a count of one number after the other, and windows of formats against
// the numbers that they round to.
#include "core/training/numbers/exponent_histogram.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/random.h"
#include "core/training/numbers/number_record.h"
#include "core/training/numbers/roundings.h"

namespace trainyard {
namespace {

ExponentHistogram counted_one_by_one(const std::vector<float>& values) {
  ExponentHistogram found;
  for (const float x : values)
    if (std::isnan(x))
      ++found.nans;
    else if (std::isinf(x))
      ++found.infinities;
    else if (x == 0)
      ++found.zeros;
    else
      ++found.counts[static_cast<std::size_t>(std::ilogb(x) - ExponentHistogram::kLeast)];
  return found;
}

float of_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// Random bits are rarely zero, subnormal or not finite, so that one in four is made one of these.
std::vector<float> random_bits(std::uint64_t seed, std::size_t count) {
  const Random random(seed);
  std::vector<float> values;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto bits = static_cast<std::uint32_t>(random.between(2 * i, 0, 0xffff'ffffll));
    const std::uint32_t sign = bits & 0x8000'0000u, mantissa = bits & 0x007f'ffffu;
    switch (random.between(2 * i + 1, 0, 15)) {
      case 0:
        values.push_back(of_bits(sign));
        break;
      case 1:
        values.push_back(of_bits(sign | mantissa));
        break;
      case 2:
        values.push_back(of_bits(sign | mantissa >> (bits % 23)));
        break;
      case 3:
        values.push_back(of_bits(sign | 0x7f80'0000u | (bits % 2 != 0 ? mantissa : 0)));
        break;
      default:
        values.push_back(of_bits(bits));
    }
  }
  return values;
}

RC_GTEST_PROP(ExponentHistograms, AreThoseOfOneNumberAfterTheOtherOnRandomBits, ()) {
  const std::vector<float> values =
      random_bits(*rc::gen::arbitrary<std::uint64_t>(), *rc::gen::inRange<std::size_t>(0, 9000));
  const ExponentHistogram found = histogram_of(values);
  RC_ASSERT(found == counted_one_by_one(values));
  RC_ASSERT(found.elements() == static_cast<std::int64_t>(values.size()));
  // Parts add up to the whole, wherever they end.
  const std::size_t end = *rc::gen::inRange<std::size_t>(0, values.size() + 1);
  ExponentHistogram sum = histogram_of({values.data(), end});
  sum += histogram_of({values.data() + end, values.size() - end});
  RC_ASSERT(sum == found);
}

RC_GTEST_PROP(ExponentHistograms, AScaleIsThatOfTheProduct, ()) {
  std::vector<float> values = random_bits(*rc::gen::arbitrary<std::uint64_t>(), 500);
  const auto scale = static_cast<float>(*rc::gen::inRange(1, 100'000)) / 1024;
  const ExponentHistogram found = histogram_of(values, static_cast<double>(scale));
  for (float& x : values) x *= scale;
  RC_ASSERT(found == counted_one_by_one(values));
}

TEST(ExponentHistograms, EndsAreThoseOfSinglePrecision) {
  using Limits = std::numeric_limits<float>;
  const std::vector<float> values = {Limits::denorm_min(), Limits::max(), -Limits::min(), -0.0f};
  const ExponentHistogram found = histogram_of(values);
  EXPECT_EQ(found.least(), -149);
  EXPECT_EQ(found.most(), 127);
  EXPECT_EQ(found.count(-126), 1);
  EXPECT_EQ(found.zeros, 1);
  EXPECT_EQ(histogram_of(std::vector<float>{0, NAN}).most(), std::nullopt);
}

RC_GTEST_PROP(CancelledCounts, AreThoseOfOneWeightAfterTheOther, ()) {
  const auto few =
      rc::gen::container<std::vector<float>>(6000, rc::gen::element(0.f, -0.f, 1.f, 2.f));
  const std::vector<float> before = *few, after = *few, gradients = *few;
  CancelledCount expected;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] == 0 || gradients[i] == 0) continue;
    ++expected.asked;
    expected.cancelled += before[i] == after[i] ? 1 : 0;
  }
  RC_ASSERT(count_cancelled(before, after, gradients) == expected);
}

TEST(NumberWindows, AreThoseOfTheFormats) {
  const auto expect = [](const NumberWindow& w, const char* format, int least, int normal, int most,
                         bool scaled) {
    EXPECT_EQ(w, (NumberWindow{format, least, normal, most, scaled})) << w.format;
  };
  expect(window_of(DType::F32), "fp32", -149, -126, 127, false);
  expect(window_of(DType::TF32), "tf32", -136, -126, 127, false);
  expect(window_of(DType::F16), "fp16", -24, -14, 15, false);
  expect(window_of(DType::BF16), "bf16", -133, -126, 127, false);
  // Micikevicius et al., "FP8 Formats for Deep Learning", table 1: 2^-9 to 448, 2^-16 to 57344.
  expect(window_of(kE4M3), "E4M3", -9, -6, 8, true);
  expect(window_of(kE5M2), "E5M2", -16, -14, 15, true);
  expect(window_of(kE2M1), "E2M1", -1, 0, 2, true);
  expect(window_of_integers(16), "int16", 0, 14, 14, true);
  expect(window_of_integers(4), "int4", 0, 2, 2, true);
}

TEST(NumberWindows, CountWhatLiesUnderWithinAndOver) {
  const std::vector<float> values = {0,        -0.0f,    0x1p-26f, -0x1.8p-26f, 0x1.8p-25f,
                                     0x1p-24f, 0x1p-15f, 0x1p-14f, -1,          65504,
                                     0x1p16f,  -1e30f,   INFINITY, NAN};
  const WindowCounts found = counts_in(window_of(DType::F16), histogram_of(values));
  EXPECT_EQ(found, (WindowCounts{2, 2, 3, 3, 2, 2}));
  EXPECT_EQ(found.share(found.over), 2.0 / 14);
  // A loss scale of 2^10 saves the two that vanish, and costs what is too large then.
  const WindowCounts scaled =
      counts_in(divided_by(window_of(DType::F16), 1024), histogram_of(values));
  EXPECT_EQ(scaled, (WindowCounts{2, 0, 3, 4, 3, 2}));
}

// A format does what counts say of it, but for the two thin edges.
RC_GTEST_PROP(NumberWindows, SayWhatConversionDoes, ()) {
  const int exponent = *rc::gen::inRange(-40, 30);
  const float x = std::ldexp(1 + static_cast<float>(*rc::gen::inRange(1, 1000)) / 1024, exponent);
  const WindowCounts found = counts_in(window_of(DType::F16), histogram_of({&x, 1}));
  const float half = from_f16(to_f16(x));
  RC_ASSERT((found.under == 1) == (half == 0));
  RC_ASSERT((found.over == 1) == std::isinf(half));
  RC_ASSERT((found.subnormal == 1) == (x < 0x1p-14f && half != 0));
}

TEST(NumberWindows, AScaleSetsTheLastBinadeOnTheLargestNumber) {
  const std::vector<float> values = {0x1p-20f, 0x1.4p-12f, 3.5e-5f * 0x1p-10f};
  const ExponentHistogram histogram = histogram_of(values);
  const NumberWindow placed = placed_over(window_of(kE4M3), histogram);
  EXPECT_EQ(placed.most, -12);
  EXPECT_EQ(placed.least, -29);
  EXPECT_EQ(counts_in(placed, histogram).over, 0);
  EXPECT_EQ(placed_over(window_of(DType::F16), histogram), window_of(DType::F16));
  EXPECT_EQ(placed_over(window_of(kE4M3), histogram_of({})), window_of(kE4M3));
}

// NUM-01, B-NUM-01: log-normal gradients of median 2^-16.5 that vary by 4 octaves, as a loss scale
// moves them through fp16.
WindowCounts log_normal_gradients(double loss_scale) {
  constexpr std::uint64_t kDraws = 100'000;
  const Random random(7);
  std::vector<float> gradients;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const double normal = std::sqrt(-2 * std::log(1 - random.uniform(2 * i))) *
                          std::cos(2 * 3.141592653589793 * random.uniform(2 * i + 1));
    gradients.push_back(static_cast<float>(std::exp2(-16.5 + 4 * normal)));
  }
  return counts_in(divided_by(window_of(DType::F16), loss_scale), histogram_of(gradients));
}

TEST(NumberWindows, ShowWhatALossScaleSavesAndCosts) {
  const WindowCounts one = log_normal_gradients(1), saved = log_normal_gradients(0x1p8),
                     high = log_normal_gradients(0x1p20);
  EXPECT_NEAR(one.share(one.under), 0.0168, 0.0015);
  EXPECT_LT(saved.share(saved.under), 1e-4);
  EXPECT_EQ(saved.over, 0);
  EXPECT_GE(high.share(high.over), 1e-4);
  EXPECT_NEAR(high.share(high.over), 0.00089, 0.0004);
}

SeenNumbers seen_of(float gradient) {
  SeenNumbers seen;
  seen.histograms[1] = histogram_of({&gradient, 1});
  seen.updates = {4, 1};
  return seen;
}

TEST(NumberRecords, LookAtTheFirstStepEveryMultipleAndTheLast) {
  NumberRecord record(10);
  record.begin(3, 27, {});
  for (std::int64_t step = 4; step <= 27; ++step)
    EXPECT_EQ(record.looks_at(step), step == 4 || step == 10 || step == 20 || step == 27) << step;
}

TEST(NumberRecords, KeepTheLatestHistogramsThatNoOverflowHasSkipped) {
  NumberRecord record(1);
  const NumberWindow half = window_of(DType::F16);
  record.begin(0, 4, {half, half, half});
  EXPECT_EQ(record.shown(), nullptr);
  const SeenNumbers vanishes = seen_of(0x1p-30f), nothing{};
  record.add(1, 1024, false, &vanishes);
  record.add(2, 1024, true, &nothing);
  record.add(3, 512, false, nullptr);
  ASSERT_NE(record.shown(), nullptr);
  EXPECT_EQ(record.shown()->step, 1);
  EXPECT_EQ(record.histograms()[1].count(-30), 1);
  // The scale holds the gradient that the format alone would lose.
  EXPECT_EQ(record.shown()->counts[1].subnormal, 1);
  EXPECT_EQ(record.shown()->updates.share(), 0.25);
  EXPECT_EQ(record.looks().size(), 2u);
  EXPECT_TRUE(record.looks()[1].skipped);
  ASSERT_EQ(record.loss_scales().size(), 2u);
  EXPECT_EQ(record.loss_scales()[1].step, 3);
  EXPECT_EQ(record.last_step(), 3);
}

// A run that has gone back does its steps again, and has one look at each of them.
TEST(NumberRecords, ForgetWhatARunGoesBackBehind) {
  NumberRecord record(1);
  record.begin(0, 4, {});
  SeenNumbers seen;
  for (std::int64_t step = 1; step <= 3; ++step) record.add(step, step < 3 ? 8 : 4, false, &seen);
  record.go_back(1);
  ASSERT_EQ(record.looks().size(), 1u);
  EXPECT_EQ(record.looks()[0].step, 1);
  EXPECT_EQ(record.loss_scales().size(), 1u);
  EXPECT_EQ(record.last_step(), 1);
  EXPECT_EQ(record.shown(), nullptr);
  record.add(2, 8, true, &seen);
  EXPECT_EQ(record.shown(), nullptr);
  record.add(3, 8, false, &seen);
  ASSERT_NE(record.shown(), nullptr);
  EXPECT_EQ(record.shown()->step, 3);
}

}  // namespace
}  // namespace trainyard
