#include "core/training/numbers/roundings.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/random.h"

namespace trainyard {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<std::uint16_t> all_halves() {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  return all;
}

// Whichever of the two neighbours is nearer, by exact arithmetic in double; ties to the even one.
template <class Narrow, class Wide>
void expect_nearest(float x, Narrow narrow, Wide wide) {
  const std::uint16_t found = narrow(x);
  const double distance = std::abs(static_cast<double>(wide(found)) - x);
  for (int beside : {-1, 1}) {
    const auto other = static_cast<std::uint16_t>(found + beside);
    if (((other ^ found) & 0x8000u) != 0 || !std::isfinite(wide(other))) continue;
    const double apart = std::abs(static_cast<double>(wide(other)) - x);
    EXPECT_LE(distance, apart) << std::hexfloat << x;
    if (apart == distance) {
      EXPECT_EQ(found % 2, 0) << std::hexfloat << x;
    }
  }
}

float of_any_size(const Random& random, std::uint64_t i) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(random.bits(i)));
}

TEST(Roundings, EveryHalfComesBackAsItself) {
  const std::vector<std::uint16_t> all = all_halves();
  std::vector<float> wide(all.size());
  std::vector<std::uint16_t> back(all.size());
  from_f16(all, wide.data());
  to_f16(wide, back.data());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::isnan(wide[i]))
      EXPECT_TRUE(std::isnan(from_f16(back[i])));
    else
      EXPECT_EQ(back[i], all[i]);
  }
  from_bf16(all, wide.data());
  to_bf16(wide, back.data());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::isnan(wide[i]))
      EXPECT_TRUE(std::isnan(from_bf16(back[i])));
    else
      EXPECT_EQ(back[i], all[i]);
  }
}

TEST(Roundings, ToTheNearestTiesToEven) {
  const Random random(1);
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const float x = of_any_size(random, i);
    if (!std::isfinite(x)) continue;
    if (std::abs(x) < 3.39e38f)
      expect_nearest(
          x, [](float y) { return to_bf16(y); }, [](std::uint16_t y) { return from_bf16(y); });
    const auto half =
        static_cast<float>(std::ldexp(random.uniform(i) - 0.5, 1 - static_cast<int>(i % 28)));
    expect_nearest(
        half, [](float y) { return to_f16(y); }, [](std::uint16_t y) { return from_f16(y); });
  }
  for (std::uint32_t half = 0; half < 0x7bffu; ++half) {  // exact ties of fp16
    const float low = from_f16(static_cast<std::uint16_t>(half)),
                high = from_f16(static_cast<std::uint16_t>(half + 1));
    EXPECT_EQ(to_f16(low + (high - low) / 2), half + half % 2);
  }
}

// The last row of NUM-01's table of formats.
TEST(Roundings, EdgesOfFp16) {
  EXPECT_EQ(from_f16(to_f16(65504)), 65504);
  EXPECT_EQ(from_f16(to_f16(65519.996f)), 65504);
  EXPECT_EQ(from_f16(to_f16(65520)), kInfinity);
  EXPECT_EQ(from_f16(to_f16(-1e10f)), -kInfinity);
  EXPECT_EQ(from_f16(to_f16(0x1p-24f)), 0x1p-24f);
  EXPECT_EQ(from_f16(to_f16(0x1p-25f)), 0);
  EXPECT_EQ(from_f16(to_f16(std::nextafter(0x1p-25f, 1.0f))), 0x1p-24f);
  EXPECT_TRUE(std::isnan(from_f16(to_f16(std::nanf("")))));
  EXPECT_TRUE(std::signbit(from_f16(to_f16(-0.0f))));
}

TEST(Roundings, EdgesOfBf16) {
  EXPECT_EQ(from_bf16(to_bf16(0.999f)), 1);  // why scalars of an optimizer stay in 4 bytes
  EXPECT_EQ(from_bf16(to_bf16(3.4e38f)), kInfinity);
  EXPECT_EQ(from_bf16(to_bf16(kInfinity)), kInfinity);
  EXPECT_TRUE(std::isnan(from_bf16(to_bf16(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_EQ(from_bf16(to_bf16_stochastic(kInfinity, 65535)), kInfinity);
  EXPECT_EQ(from_bf16(to_bf16_stochastic(-kInfinity, 65535)), -kInfinity);
  EXPECT_TRUE(std::isnan(from_bf16(to_bf16_stochastic(std::bit_cast<float>(0x7f800001u), 0))));
}

TEST(Roundings, StochasticLeavesWhatFitsAndTakesNeighboursOtherwise) {
  const Random random(2);
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const float x = of_any_size(random, i);
    if (!std::isfinite(x)) continue;
    const auto below = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16);
    EXPECT_EQ(to_bf16_stochastic(from_bf16(below), static_cast<std::uint16_t>(i)), below);
    EXPECT_EQ(to_bf16_stochastic(x, 0), below);
    EXPECT_LE(to_bf16_stochastic(x, 65535) - below, 1);
  }
}

// NUM-02: E[SR(x)] - x within 4 sigma over 10^6 draws.
TEST(Roundings, StochasticIsRightInTheMean) {
  constexpr int kDraws = 1'000'000;
  for (float x : {1.0f + 0x1p-12f, -1.0f - 0x1.3p-8f, 0.3f, 1e-3f, -123.456f}) {
    const Random random(3, static_cast<std::uint64_t>(std::bit_cast<std::uint32_t>(x)));
    std::vector<float> from(1000, x);
    std::vector<std::uint16_t> noise(1000), to(1000);
    double sum = 0;
    for (int i = 0; i < kDraws; i += 1000) {
      for (std::size_t j = 0; j < 1000; ++j)
        noise[j] = static_cast<std::uint16_t>(random.bits(static_cast<std::uint64_t>(i) + j));
      to_bf16_stochastic(from, to.data(), noise.data());
      for (std::uint16_t half : to) sum += static_cast<double>(from_bf16(half)) - x;
    }
    const double low = from_bf16(to_bf16_stochastic(x, 0)),
                 high = from_bf16(to_bf16_stochastic(x, 65535));
    const double sigma = std::sqrt(std::abs((x - low) * (high - x)) / kDraws);
    ASSERT_GT(sigma, 0);
    EXPECT_LT(std::abs(sum / kDraws), 4 * sigma) << x;
  }
}

}  // namespace
}  // namespace trainyard
