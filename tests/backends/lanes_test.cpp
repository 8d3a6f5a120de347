// Tests the accuracy of the functions in lanes.h.
#pragma GCC diagnostic ignored "-Wpsabi"  // lanes are inlined, and cross no call

#include "backends/cpu/kernels/lanes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace trainyard {
namespace {

// f(x) for x in steps from low to high, sixteen at a time.
template <class F>
void each_step(float low, float high, int steps, F&& f) {
  for (int i = 0; i < steps; i += static_cast<int>(kLanes)) {
    float x[kLanes];
    for (int l = 0; l < kLanes; ++l)
      x[l] = low + (high - low) * static_cast<float>(i + l) / static_cast<float>(steps);
    f(x);
  }
}

TEST(Lanes, ExponentialIsWithinItsBound) {
  double worst = 0;
  each_step(-87, 88, 1 << 20, [&](const float* x) {
    float y[kLanes];
    store(y, exponential(load(x)));
    for (int l = 0; l < kLanes; ++l) {
      const double expected = std::exp(static_cast<double>(x[l]));
      worst = std::max(worst, std::abs(static_cast<double>(y[l]) - expected) / expected);
    }
  });
  EXPECT_LT(worst, 3e-7);
}

TEST(Lanes, ExponentialBeyondItsRange) {
  float y[kLanes];
  store(y, exponential(all(-std::numeric_limits<float>::infinity())));
  EXPECT_NEAR(y[0], std::exp(-87.0), 1e-43);
  store(y, exponential(all(1000)));
  EXPECT_NEAR(y[3], std::exp(88.0), 3e-7 * std::exp(88.0));
  store(y, exponential(all(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(y[15]));
}

TEST(Lanes, CurvesAreThoseOfTheStandardLibrary) {
  double tanh_worst = 0, gelu_worst = 0, silu_worst = 0;
  each_step(-12, 12, 1 << 18, [&](const float* x) {
    float t[kLanes], g[kLanes], s[kLanes];
    store(t, hyperbolic_tangent(load(x)));
    store(g, gelu_lanes(load(x)).value);
    store(s, silu_lanes(load(x)).value);
    for (int l = 0; l < kLanes; ++l) {
      const double v = static_cast<double>(x[l]);
      const auto miss = [](double& worst, float found, double expected) {
        worst = std::max(worst, std::abs(static_cast<double>(found) - expected) /
                                    std::max(1e-3, std::abs(expected)));
      };
      miss(tanh_worst, t[l], std::tanh(v));
      miss(silu_worst, s[l], v / (1 + std::exp(-v)));
      gelu_worst = std::max(gelu_worst, std::abs(static_cast<double>(g[l]) -
                                                 v * 0.5 * std::erfc(-v / std::sqrt(2.0))));
    }
  });
  EXPECT_LT(tanh_worst, 1e-6);
  EXPECT_LT(silu_worst, 1e-6);
  EXPECT_LT(gelu_worst, 1e-6);
}

TEST(Lanes, PartsOfARowTouchNothingElse) {
  float x[kLanes + 1];
  std::fill(std::begin(x), std::end(x), 7.0f);
  each_lane(5, x, true, [](Lanes a) TRAINYARD_INLINED { return 2 * a; }, x);
  for (int i = 0; i <= kLanes; ++i) EXPECT_EQ(x[i], i < 5 ? 21.0f : 7.0f) << i;
}

}  // namespace
}  // namespace trainyard
