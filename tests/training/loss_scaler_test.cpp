#include "core/training/loss_scaler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/base/random.h"
#include "core/training/numbers/roundings.h"

namespace trainyard {
namespace {

Training scaled(double start, std::int64_t window, int hysteresis) {
  Training training;
  training.loss_scale = start, training.scale_window = window, training.hysteresis = hysteresis;
  return training;
}

TEST(LossScaler, HalvesOnceTheHysteresisIsSpentAndDoublesAfterAWindow) {
  LossScaler scaler(scaled(1024, 3, 2));
  EXPECT_FALSE(scaler.update(true));
  EXPECT_EQ(scaler.scale(), 1024);
  EXPECT_FALSE(scaler.update(true));
  EXPECT_EQ(scaler.scale(), 512);
  EXPECT_FALSE(scaler.update(true));  // spent until a window is quiet
  EXPECT_EQ(scaler.scale(), 256);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(scaler.update(false));
  EXPECT_EQ(scaler.scale(), 256);
  EXPECT_TRUE(scaler.update(false));
  EXPECT_EQ(scaler.scale(), 512);
  EXPECT_FALSE(scaler.update(true));
  EXPECT_EQ(scaler.scale(), 512);
  EXPECT_EQ(scaler.skipped(), 4);
}

TEST(LossScaler, AnOverflowStartsTheWindowAgain) {
  LossScaler scaler(scaled(8, 3, 5));
  scaler.update(false), scaler.update(false), scaler.update(true);
  scaler.update(false), scaler.update(false);
  EXPECT_EQ(scaler.scale(), 8);
  scaler.update(false);
  EXPECT_EQ(scaler.scale(), 16);
}

TEST(LossScaler, StopsAtTheLeastScale) {
  Training training = scaled(4, 1000, 1);
  training.least_scale = 2;
  LossScaler scaler(training);
  for (int i = 0; i < 5; ++i) scaler.update(true);
  EXPECT_EQ(scaler.scale(), 2);
}

TEST(LossScaler, AFixedScaleStillSkips) {
  LossScaler scaler(scaled(256, 0, 1));
  EXPECT_FALSE(scaler.update(true));
  for (int i = 0; i < 3000; ++i) EXPECT_TRUE(scaler.update(false));
  EXPECT_EQ(scaler.scale(), 256);
  EXPECT_EQ(scaler.skipped(), 1);
}

TEST(LossScaler, GoesOnFromItsState) {
  LossScaler one(scaled(1024, 3, 2)), other(scaled(1, 3, 2));
  one.update(true), one.update(false);
  other.restore(one.state());
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(one.update(i % 7 == 3), other.update(i % 7 == 3));
    EXPECT_EQ(one.state(), other.state());
  }
}

struct Shares {
  double zeros = 0, overflows = 0;
};

// NUM-01: gradients of median 2^-16.5 that vary by sigma = 4 octaves, as fp16 holds them.
Shares shares_at(double scale) {
  constexpr int kDraws = 100'000;
  const Random random(7);
  Shares shares;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const double normal = std::sqrt(-2 * std::log(1 - random.uniform(2 * i))) *
                          std::cos(2 * 3.141592653589793 * random.uniform(2 * i + 1));
    const auto gradient = static_cast<float>(std::exp2(-16.5 + 4 * normal) * scale);
    const float half = from_f16(to_f16(gradient));
    shares.zeros += half == 0, shares.overflows += std::isinf(half);
  }
  return {shares.zeros / kDraws, shares.overflows / kDraws};
}

TEST(LossScaler, WhatAScaleSavesAndCosts) {
  EXPECT_NEAR(shares_at(1).zeros, 0.0168, 0.0015);
  EXPECT_LT(shares_at(256).zeros, 1e-4);
  EXPECT_EQ(shares_at(256).overflows, 0);
  EXPECT_GE(shares_at(1 << 20).overflows, 1e-4);
  EXPECT_NEAR(shares_at(1 << 20).overflows, 0.00089, 0.0004);
}

// From 2^32 down to what the largest gradient bears; then one probe a window, and no more.
TEST(LossScaler, IsSteadyWithinFortyStepsOfAStartFarTooHigh) {
  LossScaler scaler(scaled(0x1p32, 1000, 2));
  constexpr double kLargest = 0.37;  // overflows above a scale of 65520 / 0.37 = 2^17.4
  int step = 0;
  const auto overflows = [&] {
    return std::isinf(from_f16(to_f16(static_cast<float>(kLargest * scaler.scale()))));
  };
  std::int64_t last_skip = 0;
  for (; step < 40; ++step)
    if (!scaler.update(overflows())) last_skip = step;
  EXPECT_EQ(scaler.scale(), 0x1p17);
  EXPECT_LT(last_skip, 20);
  const std::int64_t before = scaler.skipped();
  for (; step < 20040; ++step) scaler.update(overflows());
  EXPECT_LT(static_cast<double>(scaler.skipped() - before) / 20000, 0.002);
}

}  // namespace
}  // namespace trainyard
