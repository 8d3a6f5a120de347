// The formats of 8 and 4 bits against formulas that look at one code after the other.
#include "core/training/numbers/narrow_format.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "core/base/random.h"
#include "tests/support/cases.h"

namespace trainyard {
namespace {

struct NamedFormat {
  const char* name;
  SmallFloat format;
  int codes;
};
const std::vector<NamedFormat> kFormats = {
    {"E4M3", kE4M3, 256}, {"E5M2", kE5M2, 256}, {"E2M1", kE2M1, 16}};

// What a code means, as the tables of the papers say it.
double by_definition(const SmallFloat& f, int code) {
  const int bits = f.exponent_bits + f.mantissa_bits;
  const double sign = (code >> bits & 1) != 0 ? -1 : 1;
  const int size = code & ((1 << bits) - 1), exponent = size >> f.mantissa_bits,
            mantissa = size & ((1 << f.mantissa_bits) - 1);
  const bool top = exponent == (1 << f.exponent_bits) - 1;
  if (f.exponent_bits == 4 && top && mantissa == 7) return NAN;
  if (f.exponent_bits == 5 && top) return mantissa == 0 ? sign * INFINITY : NAN;
  const double fraction = mantissa / std::pow(2, f.mantissa_bits);
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  return exponent == 0 ? sign * std::pow(2, 1 - bias) * fraction
                       : sign * std::pow(2, exponent - bias) * (1 + fraction);
}

// The nearest of all numbers; of two equally near ones that with an even code.
int nearest_code(const SmallFloat& f, float value) {
  const int bits = f.exponent_bits + f.mantissa_bits;
  static std::map<int, std::vector<double>> numbers;  // by bits of mantissa
  std::vector<double>& of = numbers[f.mantissa_bits];
  for (int code = static_cast<int>(of.size()); code <= f.largest; ++code)
    of.push_back(by_definition(f, code));
  int best = 0;
  double least = INFINITY;
  for (int code = 0; code <= f.largest; ++code) {
    const double apart = std::abs(std::min<double>(std::abs(value), of[f.largest]) -
                                  of[static_cast<std::size_t>(code)]);
    if (apart < least || (apart == least && code % 2 == 0)) best = code, least = apart;
  }
  return best + (std::signbit(value) ? 1 << bits : 0);
}

TEST(NarrowNumber, EveryCodeMeansWhatItsDefinitionSays) {
  for (const NamedFormat& f : kFormats)
    for (int code = 0; code < f.codes; ++code) {
      const float number = narrow_number(f.format, static_cast<std::uint8_t>(code));
      const double meant = by_definition(f.format, code);
      EXPECT_EQ(std::isnan(number), std::isnan(meant)) << f.name << " " << code;
      if (!std::isnan(meant)) {
        EXPECT_EQ(number, meant) << f.name << " " << code;
      }
    }
  EXPECT_EQ(narrow_number(kE4M3, kE4M3.largest), 448);
  EXPECT_EQ(narrow_number(kE5M2, kE5M2.largest), 57344);
  EXPECT_EQ(narrow_number(kE2M1, kE2M1.largest), 6);
}

TEST(NarrowNumber, EveryCodeComesBack) {
  for (const NamedFormat& f : kFormats)
    for (int code = 0; code < f.codes; ++code) {
      const float number = narrow_number(f.format, static_cast<std::uint8_t>(code));
      const int back = narrow_code(f.format, number);
      const int sign = code & (f.codes / 2);
      if (std::isnan(number))
        EXPECT_TRUE(std::isnan(narrow_number(f.format, static_cast<std::uint8_t>(back))));
      else
        EXPECT_EQ(back, std::isinf(number) ? (f.format.largest | sign) : code) << f.name;
    }
}

TEST(NarrowNumber, PowersOfTwoAreExact) {
  for (int code = 0; code < 255; ++code)
    EXPECT_EQ(power_of_code(static_cast<std::uint8_t>(code)), std::ldexp(1.0, code - 127)) << code;
  EXPECT_TRUE(std::isnan(power_of_code(255)));
}

TEST(NarrowNumber, RoundsToTheNearestEvenAndSaturates) {
  const Random random(3);
  const std::uint64_t cases = testing::cases(20000, 500);
  for (const NamedFormat& f : kFormats) {
    const auto same = [&](float value) {
      ASSERT_EQ(narrow_code(f.format, value), nearest_code(f.format, value))
          << f.name << " " << value;
    };
    for (std::uint64_t i = 0; i < cases; ++i) {
      // Any bits: subnormal floats, and sizes beyond all of these formats.
      const float any = std::bit_cast<float>(static_cast<std::uint32_t>(random.bits(2 * i)));
      if (!std::isnan(any)) same(any);
      const double near = std::pow(2, 40 * random.uniform(2 * i + 1) - 22);
      same(static_cast<float>(i % 2 == 0 ? near : -near));
    }
    // Ties, and the floats beside them.
    for (int code = 0; code < f.format.largest; ++code) {
      const auto tie = static_cast<float>(
          (by_definition(f.format, code) + by_definition(f.format, code + 1)) / 2);
      for (const float value : {tie, std::nextafter(tie, 0.0F), std::nextafter(tie, INFINITY)}) {
        same(value);
        same(-value);
      }
    }
    for (const float value :
         {0.0F, -0.0F, INFINITY, -INFINITY, std::numeric_limits<float>::denorm_min(),
          std::numeric_limits<float>::max()})
      same(value);
  }
  EXPECT_TRUE(std::isnan(narrow_number(kE4M3, narrow_code(kE4M3, NAN))));
  EXPECT_TRUE(std::isnan(narrow_number(kE5M2, narrow_code(kE5M2, NAN))));
}

struct Narrowed {
  std::vector<float> scales, values;
};
Narrowed there_and_back(const NarrowScaling& scaling, const SmallFloat& format, const Lines& lines,
                        const std::vector<float>& values) {
  Narrowed made;
  made.scales.resize(static_cast<std::size_t>(scale_count(scaling, lines)));
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(code_bytes(format, lines.elements())),
                                  0xff);
  to_narrow(scaling, format, lines, largest_size(values.data(), lines.elements()), values.data(),
            codes.data(), made.scales.data());
  made.values.resize(values.size());
  from_narrow(scaling, format, lines, codes.data(), made.scales.data(), made.values.data());
  return made;
}

std::vector<float> uneven(std::int64_t count, std::uint64_t seed) {
  const Random random(seed);
  std::vector<float> values;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(count); ++i)
    values.push_back(static_cast<float>((2 * random.uniform(2 * i) - 1) *
                                        std::pow(2, 30 * random.uniform(2 * i + 1) - 20)));
  return values;
}

// Each element by itself, by the formulas of the specification.
TEST(NarrowTensor, BlocksOf32ShareThePowerOfTheirLargest) {
  for (const Lines lines : {Lines{3, 70, 1}, Lines{1, 70, 3}, Lines{2, 33, 2}}) {
    const std::vector<float> values = uneven(lines.elements(), 5);
    const Narrowed found = there_and_back(kMxfp8, kE4M3, lines, values);
    for (std::int64_t o = 0; o < lines.outer; ++o)
      for (std::int64_t i = 0; i < lines.length; ++i)
        for (std::int64_t j = 0; j < lines.inner; ++j) {
          const auto at = [&](std::int64_t k) {
            return static_cast<std::size_t>((o * lines.length + k) * lines.inner + j);
          };
          double most = 0;
          for (std::int64_t k = i / 32 * 32; k < std::min(i / 32 * 32 + 32, lines.length); ++k)
            most = std::max(most, std::abs(double{values[at(k)]}));
          const double scale = std::pow(2, std::floor(std::log2(most)) - 8);
          const int code = nearest_code(kE4M3, static_cast<float>(values[at(i)] / scale));
          EXPECT_EQ(found.values[at(i)], by_definition(kE4M3, code) * scale);
        }
  }
}

TEST(NarrowTensor, BlocksOf16HaveAScaleOfE4M3AndTheTensorOneOfItsOwn) {
  const Lines lines{4, 40, 1};
  const std::vector<float> values = uneven(lines.elements(), 7);
  const Narrowed found = there_and_back(kNvfp4, kE2M1, lines, values);
  const float of_tensor = largest_size(values.data(), lines.elements()) / (448 * 6);
  for (std::size_t e = 0; e < values.size(); ++e) {
    const std::size_t line = e / 40 * 40, first = line + (e - line) / 16 * 16;
    float most = 0;
    for (std::size_t k = first; k < std::min(first + 16, line + 40); ++k)
      most = std::max(most, std::abs(values[k]));
    const auto scale = static_cast<float>(
        by_definition(kE4M3, nearest_code(kE4M3, most / 6 / of_tensor)) * of_tensor);
    const float expected =
        scale > 0
            ? static_cast<float>(by_definition(kE2M1, nearest_code(kE2M1, values[e] / scale))) *
                  scale
            : 0;
    EXPECT_EQ(found.values[e], expected);
  }
}

TEST(NarrowTensor, ATensorsScaleKeepsItsLargestInRangeAndIsNoSmallerThanItMust) {
  for (const NamedFormat& f : kFormats)
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const std::vector<float> values = uneven(50, seed);
      const Narrowed found = there_and_back(kFp8Tensor, f.format, {5, 10, 1}, values);
      ASSERT_EQ(found.scales.size(), 1u);
      const float most = largest_size(values.data(), 50) / found.scales[0],
                  range = narrow_number(f.format, f.format.largest);
      EXPECT_LE(most, range);
      EXPECT_GT(2 * most, range);
    }
}

TEST(NarrowTensor, OnlyTheBlockOfWhatIsNoNumberBecomesNone) {
  for (const float wrong : {NAN, INFINITY}) {
    std::vector<float> values(64, 1);
    values[40] = wrong;
    for (const auto& [scaling, format] : {std::pair{kMxfp8, kE4M3}, std::pair{kNvfp4, kE2M1}}) {
      const Narrowed found = there_and_back(scaling, format, {1, 64, 1}, values);
      for (std::size_t e = 0; e < 64; ++e) {
        const auto block = static_cast<std::size_t>(scaling.block);
        EXPECT_EQ(std::isnan(found.values[e]), e / block == 40 / block) << e;
      }
    }
  }
}

TEST(NarrowTensor, WhatIsNarrowStaysAsItIs) {
  for (const NarrowScaling& scaling : {kFp8Tensor, kFp8Row, kFp8Block, kMxfp8}) {
    const Lines lines{2, 150, 1};
    const Narrowed once = there_and_back(scaling, scaling.element, lines, uneven(300, 9));
    EXPECT_EQ(there_and_back(scaling, scaling.element, lines, once.values).values, once.values);
  }
}

// Two matrices of 5 x 7 in squares of 3: what ranks find of their parts is what one finds of all,
// each square has the power of two that keeps it in range, and what is narrow stays as it is.
TEST(NarrowTensor, TilesAreTheSquaresOfMatrices) {
  const Tiles tiles{2, 5, 7, 3};
  EXPECT_EQ(tiles.count(), 2 * 2 * 3);
  std::vector<float> values = uneven(70, 5);
  std::vector<float> by_hand(12);
  for (std::size_t m = 0; m < 2; ++m)
    for (std::size_t r = 0; r < 5; ++r)
      for (std::size_t c = 0; c < 7; ++c) {
        float& most = by_hand[(m * 2 + r / 3) * 3 + c / 3];
        most = std::max(most, std::abs(values[(m * 5 + r) * 7 + c]));
      }
  std::vector<float> largest(12), in_parts(12);
  see_tiles(tiles, 0, values, largest);
  EXPECT_EQ(largest, by_hand);
  const std::span<const float> all(values);
  std::vector<std::uint8_t> codes(70), codes_in_parts(70);
  tiles_to_narrow(kE4M3, tiles, 0, values, largest, codes.data());
  for (const auto& [first, count] :
       {std::pair<std::size_t, std::size_t>{0, 23}, {23, 1}, {24, 46}}) {
    see_tiles(tiles, static_cast<std::int64_t>(first), all.subspan(first, count), in_parts);
    tiles_to_narrow(kE4M3, tiles, static_cast<std::int64_t>(first), all.subspan(first, count),
                    largest, codes_in_parts.data() + first);
  }
  EXPECT_EQ(in_parts, largest);
  EXPECT_EQ(codes_in_parts, codes);
  std::vector<float> back(70), again(12);
  tiles_from_narrow(kE4M3, tiles, 0, codes, largest, back.data());
  const float range = narrow_number(kE4M3, kE4M3.largest);
  for (std::int64_t e = 0; e < 70; ++e) {
    const auto i = static_cast<std::size_t>(e);
    const float most = largest[static_cast<std::size_t>(tiles.of(e))],
                scale = tensor_scale(kE4M3, most);
    EXPECT_LE(most / scale, range);
    EXPECT_GT(2 * most / scale, range);
    EXPECT_EQ(back[i], narrow_number(kE4M3, narrow_code(kE4M3, values[i] / scale)) * scale);
  }
  see_tiles(tiles, 0, back, again);
  tiles_to_narrow(kE4M3, tiles, 0, back, again, codes.data());
  std::vector<float> twice(70);
  tiles_from_narrow(kE4M3, tiles, 0, codes, again, twice.data());
  EXPECT_EQ(twice, back);
}

}  // namespace
}  // namespace trainyard
