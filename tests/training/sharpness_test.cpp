#include "core/training/sharpness.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/base/random.h"
#include "core/result/stable_rate.h"
#include "tests/support/dense_eigenvalues.h"

namespace trainyard {
namespace {

using testing::SquareMatrix;

SquareMatrix random_symmetric(std::size_t size, std::uint64_t seed) {
  SquareMatrix matrix(size);
  const Random random(seed);
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j <= i; ++j)
      matrix.at(i, j) = matrix.at(j, i) = 2 * random.uniform(at++) - 1;
  return matrix;
}

// The loss w'Hw / 2, whose Hessian is H everywhere.
GradientAt quadratic(const SquareMatrix& h) {
  return [&h](std::span<const double> w) {
    LossGradient found{0, std::vector<double>(w.size())};
    for (std::size_t i = 0; i < w.size(); ++i) {
      for (std::size_t j = 0; j < w.size(); ++j) found.gradient[i] += h.at(i, j) * w[j];
      found.loss += w[i] * found.gradient[i] / 2;
    }
    return found;
  };
}

// A matrix may have eigenvalues of either sign: the largest one is found, and not the one of the
// largest size.
RC_GTEST_PROP(Sharpness, IsTheLargestEigenvalueOfTheDenseMatrix, ()) {
  const auto size = static_cast<std::size_t>(*rc::gen::inRange(1, 12));
  const SquareMatrix h = random_symmetric(size, *rc::gen::arbitrary<std::uint64_t>());
  const std::vector<double> weights(size, 0.5);
  SharpnessOptions options;
  options.most_products = 20'000, options.tolerance = 1e-9;
  const Sharpness found = sharpness(quadratic(h), weights, options);
  const std::vector<double> all = testing::eigenvalues(h);
  const double expected = *std::max_element(all.begin(), all.end());
  double scale = 0;
  for (const double value : all) scale = std::max(scale, std::abs(value));
  RC_ASSERT(std::abs(found.eigenvalue - expected) <= 0.02 * scale);
}

// However early it ends, an eigenvalue lies as near as the residual says.
RC_GTEST_PROP(Sharpness, TheResidualBoundsTheErrorOfSomeEigenvalue, ()) {
  const auto size = static_cast<std::size_t>(*rc::gen::inRange(1, 12));
  const SquareMatrix h = random_symmetric(size, *rc::gen::arbitrary<std::uint64_t>());
  SharpnessOptions options;
  options.most_products = *rc::gen::inRange(1, 8);
  const Sharpness found = sharpness(quadratic(h), std::vector<double>(size, 0.5), options);
  double scale = 0, nearest = INFINITY;
  for (const double value : testing::eigenvalues(h)) {
    scale = std::max(scale, std::abs(value));
    nearest = std::min(nearest, std::abs(value - found.eigenvalue));
  }
  RC_ASSERT(nearest <= found.residual * std::abs(found.eigenvalue) + 1e-4 * scale);
}

// Descent with gradients so many updates old converges just below the bound that follows from the
// sharpness, and diverges just above it.
TEST(Sharpness, BoundsTheRateOfDescentWithOldGradients) {
  const SquareMatrix root = random_symmetric(6, 3);
  SquareMatrix h(6);  // positive: the square of a symmetric matrix
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = 0; j < 6; ++j)
      for (std::size_t k = 0; k < 6; ++k) h.at(i, j) += root.at(i, k) * root.at(k, j);
  const GradientAt gradient = quadratic(h);
  SharpnessOptions options;
  options.most_products = 20'000, options.tolerance = 1e-10;
  const std::vector<double> begin(6, 1.0);
  const double sharp = sharpness(gradient, begin, options).eigenvalue;
  for (const int delay : {0, 1, 2, 5, 10})
    for (const double share : {0.98, 1.02}) {
      const double rate = share * 2 / sharp * stable_rate_share(delay);
      std::vector<std::vector<double>> past(static_cast<std::size_t>(delay) + 1, begin);
      for (int step = 0; step < 6000; ++step) {
        const LossGradient old = gradient(past.front());
        std::vector<double> next = past.back();
        for (std::size_t i = 0; i < next.size(); ++i) next[i] -= rate * old.gradient[i];
        past.erase(past.begin());
        past.push_back(std::move(next));
      }
      const double loss = gradient(past.back()).loss, first = gradient(begin).loss;
      EXPECT_EQ(loss < first, share < 1) << delay << " updates old, " << share;
    }
}

TEST(Sharpness, OfALineIsNone) {
  const GradientAt line = [](std::span<const double> w) { return LossGradient{w[0], {1.0, 0.0}}; };
  const Sharpness found = sharpness(line, std::vector<double>{1, 1});
  EXPECT_NEAR(found.eigenvalue, 0, 1e-9);
  EXPECT_TRUE(found.settled);
  EXPECT_DOUBLE_EQ(found.gradient_norm, 1);
}

// Gradients that jump make products of no symmetric matrix. The extreme is a rotation, which has no
// direction that it keeps: the iteration changes nothing, and must not be believed for it.
TEST(Sharpness, ARotationHasNoEigenvalueToBeFound) {
  const GradientAt turn = [](std::span<const double> w) {
    return LossGradient{0, {w[0] - 3 * w[1], 3 * w[0] + w[1]}};
  };
  const Sharpness turned = sharpness(turn, std::vector<double>{1, 1});
  EXPECT_NEAR(turned.change, 0, 1e-6);
  EXPECT_NEAR(turned.residual, 3, 1e-6);
  EXPECT_FALSE(turned.found());
  EXPECT_FALSE(turned.settled);
}

TEST(Sharpness, SaysWhereItHasNotSettled) {
  const SquareMatrix h = random_symmetric(8, 5);
  SharpnessOptions options;
  options.most_products = 1;
  const Sharpness found = sharpness(quadratic(h), std::vector<double>(8, 1.0), options);
  EXPECT_FALSE(found.settled);
  EXPECT_LE(found.products, 1);
  options.stop = [] { return true; };
  EXPECT_EQ(sharpness(quadratic(h), std::vector<double>(8, 1.0), options).products, 0);
}

// The slice of a quadratic at its lowest point is a parabola of that sharpness.
TEST(Sharpness, ASliceIsTheLossAlongItsLines) {
  SquareMatrix h(2);
  h.at(0, 0) = 4, h.at(1, 1) = 1;
  const GradientAt gradient = quadratic(h);
  SharpnessOptions options;
  options.tolerance = 1e-12, options.most_products = 1000;
  const std::vector<double> lowest = {0, 0};
  const Sharpness found = sharpness(gradient, lowest, options);
  const LossSlice slice = loss_slice(gradient, lowest, found, 5, 1);
  ASSERT_EQ(slice.offsets.size(), 11u);
  EXPECT_EQ(slice.offsets[5], 0);
  for (std::size_t i = 0; i < 11; ++i) {
    EXPECT_NEAR(slice.sharpest[i], 2 * slice.offsets[i] * slice.offsets[i], 1e-9);
    EXPECT_LE(slice.random[i], slice.sharpest[i] + 1e-12);
  }
}

}  // namespace
}  // namespace trainyard
