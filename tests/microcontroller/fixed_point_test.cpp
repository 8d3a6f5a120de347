#include "core/microcontroller/fixed_point.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>

namespace trainyard {
namespace {

TEST(FixedPoint, FactorsAreAMultiplierOf31BitsAndAShift) {
  EXPECT_EQ(requantisation(0.5), (Requantisation{1 << 30, 0}));
  EXPECT_EQ(requantisation(1), (Requantisation{1 << 30, 1}));
  EXPECT_EQ(requantisation(0.25), (Requantisation{1 << 30, -1}));
  EXPECT_EQ(requantisation(0), (Requantisation{0, 0}));
  EXPECT_EQ(requantisation(1e-12), (Requantisation{0, 0}));
  // The fraction rounds up to 1, which is half of the next power of two.
  EXPECT_EQ(requantisation(std::nextafter(1.0, 0.0)), (Requantisation{1 << 30, 1}));
  EXPECT_EQ(requantisation(1e300).shift, 30);
}

// Both roundings are to the nearest; of halves the second one takes that away from zero.
TEST(FixedPoint, HalvesGoAwayFromZero) {
  const Requantisation quarter = requantisation(0.25);
  EXPECT_EQ(requantised(2, quarter), 1);    // 0.5
  EXPECT_EQ(requantised(-2, quarter), -1);  // -0.5
  EXPECT_EQ(requantised(4, quarter), 1);
  EXPECT_EQ(requantised(-4, quarter), -1);
  EXPECT_EQ(requantised(-6, quarter), -2);              // -1.5
  EXPECT_EQ(requantised(7, requantisation(0.5)), 4);    // 3.5
  EXPECT_EQ(requantised(-7, requantisation(0.5)), -3);  // the first rounding: up
}

TEST(FixedPoint, LargeShiftsSaturate) {
  EXPECT_EQ(requantised(1 << 20, requantisation(1 << 20)),
            (std::numeric_limits<std::int32_t>::max() + std::int64_t{1}) / 2);
  EXPECT_LT(requantised(-(1 << 20), requantisation(1 << 20)), -(1 << 29));
}

TEST(FixedPoint, EveryFactorIsWithin2ToTheMinus31) {
  EXPECT_TRUE(rc::check([](std::uint32_t bits) {
    const double real = std::ldexp(1 + bits / 4294967296.0, static_cast<int>(bits % 40) - 31);
    RC_ASSERT(std::abs(real_factor(requantisation(real)) / real - 1) <= std::ldexp(1, -31));
  }));
}

// Two roundings miss the exact product by less than one, and never pass over a neighbour.
TEST(FixedPoint, ProductsAreWithinOneOfTheExactOnes) {
  EXPECT_TRUE(rc::check([](std::int32_t value, std::uint32_t bits) {
    const double real = std::ldexp(1 + bits / 4294967296.0, -1 - static_cast<int>(bits % 30));
    const Requantisation by = requantisation(real);
    RC_ASSERT(std::abs(requantised(value, by) - value * real_factor(by)) <= 1);
  }));
}

}  // namespace
}  // namespace trainyard
