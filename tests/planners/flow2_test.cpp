#include "planners/tuning/flow2.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"

namespace trainyard {
namespace {

using Kind = Dimension::Kind;

Dimension real(double low, double high, double start, bool log = false) {
  return {"x", low, high, Kind::Real, log, start};
}
Dimension integer(double low, double high, double start, bool log = false) {
  return {"n", low, high, Kind::Integer, log, start};
}

TEST(Flow2, PlacesOfAllFourKindsOfDimensions) {
  EXPECT_DOUBLE_EQ(normalised(real(2, 4, 2), 3), 0.5);
  EXPECT_DOUBLE_EQ(normalised(real(1e-4, 1, 1, true), 1e-2), 0.5);
  EXPECT_DOUBLE_EQ(normalised(integer(1, 64, 1, true), 8), 0.5);
  EXPECT_DOUBLE_EQ(normalised(integer(3, 3, 3), 3), 0);
  EXPECT_DOUBLE_EQ(value_at(real(1e-4, 1, 1, true), 0.5), 1e-2);
  EXPECT_EQ(value_at(integer(0, 10, 0), 0.26), 3);
  EXPECT_EQ(value_at(integer(1, 64, 1, true), 0.52), 9);
  EXPECT_EQ(value_at(real(2, 4, 2), 7), 4);
  EXPECT_EQ(value_at(real(2, 4, 2), -1), 2);
  for (int n = 1; n <= 64; ++n)
    EXPECT_EQ(value_at(integer(1, 64, 1, true), normalised(integer(1, 64, 1, true), n)), n);
}

// x, x + u, x - u with one length of step; then, x + u being better, from there on.
TEST(Flow2, TriesAStepThenItsOpposite) {
  const std::vector<Dimension> space = {real(0, 1, 0.5), real(0, 1, 0.5)};
  Flow2 walk(space, Random(3));
  EXPECT_DOUBLE_EQ(walk.step(), 0.1 * std::sqrt(2.0));
  EXPECT_EQ(walk.propose(), (SearchPoint{0.5, 0.5}));
  walk.told({1.0});
  const SearchPoint one = walk.propose();
  EXPECT_NEAR(std::hypot(one[0] - 0.5, one[1] - 0.5), walk.step(), 1e-12);
  walk.told({2.0});
  const SearchPoint other = walk.propose();
  EXPECT_NEAR(one[0] + other[0], 1, 1e-12);
  EXPECT_NEAR(one[1] + other[1], 1, 1e-12);
  walk.told({0.5});
  EXPECT_EQ(walk.best(), other);
  const SearchPoint next = walk.propose();
  EXPECT_NEAR(std::hypot(next[0] - other[0], next[1] - other[1]), walk.step(), 1e-12);
}

// With one dimension, the step shrinks after two failures: by sqrt(K_old / K) for 1 and 3, then for
// 3 and 5.
TEST(Flow2, StepsShrinkByTheRootOfEvaluations) {
  Flow2 walk({real(0, 1, 0.5)}, Random(1));
  const double first = walk.step();
  for (const double loss : {1.0, 2.0, 2.0}) walk.propose(), walk.told({loss});
  EXPECT_DOUBLE_EQ(walk.step(), first * std::sqrt(1.0 / 3));
  for (const double loss : {2.0, 2.0}) walk.propose(), walk.told({loss});
  EXPECT_DOUBLE_EQ(walk.step(), first * std::sqrt(1.0 / 3) * std::sqrt(3.0 / 5));
}

TEST(Flow2, CoarseGridsGetStepsThatLeaveTheCell) {
  Flow2 walk({integer(0, 2, 0)}, Random(1));
  EXPECT_DOUBLE_EQ(walk.step(), 1);  // twice the cell is 1, and so is the cap
  EXPECT_FALSE(walk.converged());
}

TEST(Flow2, FindsTheBottomOfABowl) {
  int near = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Flow2 walk({real(0, 1, 0), real(1e-4, 1, 1e-4, true), integer(1, 100, 1)}, Random(seed));
    for (int i = 0; i < 400 && !walk.converged(); ++i) {
      const SearchPoint p = walk.propose();
      const double a = p[0] - 0.7, b = std::log10(p[1]) + 2, c = (p[2] - 40) / 100;
      walk.told({a * a + b * b + c * c});
    }
    near += *walk.best_loss().value < 1e-2;
  }
  EXPECT_GE(near, 18);
}

// The first tenth of the dimension is all that fits.
TEST(Flow2, WalksOutOfWhatHasNoLoss) {
  Flow2 walk({real(0, 1, 1), real(0, 1, 1)}, Random(4));
  for (int i = 0; i < 200; ++i) {
    const SearchPoint p = walk.propose();
    walk.told(p[0] > 0.1 ? Loss{std::nullopt, p[0]} : Loss{1 + p[1]});
  }
  EXPECT_LT(walk.best_loss().value.value_or(9), 1.2);
}

TEST(Flow2, TheSameNumbersTheSameWalk) {
  const auto walk = [](std::uint64_t seed) {
    Flow2 w({real(0, 1, 0), integer(1, 64, 1, true)}, Random(seed));
    std::vector<SearchPoint> points;
    for (int i = 0; i < 50; ++i) {
      points.push_back(w.propose());
      w.told({std::abs(points.back()[0] - 0.3) + std::abs(points.back()[1] - 9)});
    }
    return points;
  };
  EXPECT_EQ(walk(5), walk(5));
  EXPECT_NE(walk(5), walk(6));
}

std::string refused(Dimension d) {
  try {
    check_space({d});
  } catch (const Error& e) {
    return e.place().text + ": " + e.what();
  }
  return "";
}

TEST(Flow2, RefusesBoundsThatMakeNoSense) {
  EXPECT_EQ(refused(real(0, 1, 0)), "");
  EXPECT_EQ(refused(real(2, 1, 2)), "x: expected bounds that rise, found 2..1");
  EXPECT_EQ(refused(real(0, 1, 0.5, true)),
            "x: expected bounds above 0 on a logarithmic scale, found 0");
  EXPECT_EQ(refused(integer(0, 1.5, 0)), "n: expected whole bounds, found 0..1.5");
  EXPECT_EQ(refused(real(0, 1, 3)), "x: expected a start from 0 to 1, found 3");
  EXPECT_NE(refused(real(0, std::nan(""), 0)), "");
}

}  // namespace
}  // namespace trainyard
