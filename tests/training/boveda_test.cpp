// Tests the lossless codec: B-NUM-07.
#include "core/training/numbers/boveda.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/drawn_normal.h"
#include "tests/support/cases.h"

namespace trainyard {
namespace {

template <class Number>
std::vector<Number> back(const BovedaTensor& stored) {
  std::vector<Number> numbers(static_cast<std::size_t>(stored.count));
  boveda_decode(stored, numbers);
  return numbers;
}

// Groups of every width follow each other, and the least number is among them.
template <class Number>
std::vector<Number> of_all_widths(std::size_t count) {
  const Random random(11, sizeof(Number));
  constexpr std::int64_t kBits = 8 * sizeof(Number);
  std::vector<Number> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto shift = static_cast<int>(Random(5).bits(i / 8) % kBits);
    numbers[i] = static_cast<Number>(
        random.between(i, std::numeric_limits<Number>::min(), std::numeric_limits<Number>::max()) >>
        shift);
  }
  numbers[count / 2] = std::numeric_limits<Number>::min();
  return numbers;
}

TEST(Boveda, TenMillionNumbersComeBackBitByBit) {
  const std::size_t count = testing::cases(10'000'000, 200'000);
  const std::vector<std::int8_t> bytes = of_all_widths<std::int8_t>(count);
  EXPECT_NE(std::find(bytes.begin(), bytes.end(), std::int8_t{-128}), bytes.end());
  EXPECT_TRUE(back<std::int8_t>(boveda_encode(bytes)) == bytes);
  const std::vector<std::int16_t> words = of_all_widths<std::int16_t>(count);
  EXPECT_NE(std::find(words.begin(), words.end(), std::int16_t{-32768}), words.end());
  EXPECT_TRUE(back<std::int16_t>(boveda_encode(words)) == words);
}

TEST(Boveda, EveryNumberComesBackAtEveryPlaceOfAGroup) {
  for (std::size_t place = 0; place < 8; ++place)
    for (int number = -128; number < 128; ++number) {
      std::vector<std::int8_t> group(8);
      group[place] = static_cast<std::int8_t>(number);
      ASSERT_EQ(back<std::int8_t>(boveda_encode(group)), group) << number;
    }
  for (int number = -32768; number < 32768; ++number) {
    std::vector<std::int16_t> group(8);
    const auto place = static_cast<std::size_t>(number) % 8;
    group[place] = static_cast<std::int16_t>(number);
    group[(place + 3) % 8] = -1;
    ASSERT_EQ(back<std::int16_t>(boveda_encode(group)), group) << number;
  }
}

template <class Number>
void comes_back_by_tile(const std::vector<Number>& numbers) {
  BovedaForm form;
  form.group = 8 * *rc::gen::inRange<std::int64_t>(1, 4);
  form.tile = 8 * form.group * *rc::gen::inRange<std::int64_t>(1, 3);
  const BovedaTensor stored = boveda_encode(numbers, form);
  RC_ASSERT(back<Number>(stored) == numbers);
  // Tiles are read in any order, and a tile alone.
  const int header = sizeof(Number) == 1 ? 3 : 4;
  std::size_t end = numbers.size();
  for (std::size_t tile = stored.tiles(); tile-- > 0;) {
    std::vector<Number> part(static_cast<std::size_t>(stored.count_of(tile)));
    boveda_decode(stored, tile, part);
    end -= part.size();
    RC_ASSERT(
        std::equal(part.begin(), part.end(), numbers.begin() + static_cast<std::ptrdiff_t>(end)));
    const auto groups = static_cast<std::int64_t>(part.size() + form.group - 1) / form.group;
    const double most = (8.0 * sizeof(Number) + static_cast<double>(header) / form.group) *
                        static_cast<double>(groups * form.group);
    RC_ASSERT(8.0 * static_cast<double>(stored.address[tile + 1] - stored.address[tile]) <=
              most + 7);
  }
  RC_ASSERT(end == 0u);
}

RC_GTEST_PROP(Boveda, TilesComeBackAlone, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(0, 900);
  const auto few = *rc::gen::inRange(1, 129);
  comes_back_by_tile(*rc::gen::container<std::vector<std::int8_t>>(
      count, rc::gen::map(rc::gen::inRange(-few, few),
                          [](int i) { return static_cast<std::int8_t>(i); })));
  const auto many = *rc::gen::inRange(1, 32769);
  comes_back_by_tile(*rc::gen::container<std::vector<std::int16_t>>(
      count, rc::gen::map(rc::gen::inRange(-many, many),
                          [](int i) { return static_cast<std::int16_t>(i); })));
}

TEST(Boveda, TheContainerIsHeadersAndThenFields) {
  // Two groups: widths of 3 and 8 bits, so that their headers are 2 and 7.
  const std::vector<std::int8_t> numbers = {1, -3, 0, 2, 0, 0, 0, -1, -128, 127, 0, 0, 0, 0, 0, 5};
  const BovedaTensor stored = boveda_encode(numbers);
  ASSERT_EQ(stored.address, (std::vector<std::uint64_t>{0, 1 + 3 + 8}));
  EXPECT_EQ(stored.stored[0], 2 | 7 << 3);
  // From the lowest bits on: 001, 111, 000, 010, 000, 000, 000, 101.
  const std::uint32_t first = stored.stored[1] | stored.stored[2] << 8 | stored.stored[3] << 16;
  EXPECT_EQ(first, 1u | 7u << 3 | 2u << 9 | 5u << 21);
  EXPECT_EQ(stored.stored[4], 0x80);  // minus zero: the least number
  EXPECT_EQ(stored.stored[5], 127);
}

TEST(Boveda, HeavyTailsTakeThreeFifthsAndNothingTakesMoreThanAHeader) {
  constexpr std::size_t kCount = 1'000'000;
  const Random random(2);
  std::vector<float> student(kCount), normal(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    double square = 0;
    for (std::uint64_t k = 0; k < 3; ++k) square += std::pow(drawn_normal(random, 4 * i + k), 2);
    student[i] = static_cast<float>(drawn_normal(random, 4 * i + 3) / std::sqrt(square / 3));
    normal[i] = static_cast<float>(drawn_normal(random, 4 * i));
  }
  const BovedaTensor heavy = boveda_encode(eight_bit_codes(student));
  EXPECT_LE(heavy.ratio(), 0.6);
  EXPECT_GT(heavy.ratio(), 0.125);
  EXPECT_GE(heavy.worst_ratio(), heavy.ratio());
  // The more numbers are drawn, the larger the largest of them, which is the scale: of a normal law
  // 0.925 at 65,536 numbers.
  EXPECT_NEAR(boveda_encode(eight_bit_codes({normal.begin(), normal.begin() + 65'536})).ratio(),
              0.925, 0.005);
  const std::vector<std::int8_t> widest(kCount, -128);
  EXPECT_LE(8 * boveda_encode(widest).ratio(), 8 + 3.0 / 8 + 1e-6);
}

}  // namespace
}  // namespace trainyard
