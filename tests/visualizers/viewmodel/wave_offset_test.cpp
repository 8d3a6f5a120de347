// Tests several memory waves on one device: the sheet's table of peaks by offset (Wavelet), on
// ramps of a thousand small steps, and laws that hold for any wave.
#include "visualizers/viewmodel/wave_offset.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <algorithm>

#include "core/base/error.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

// Up to `peak` in forward, of one unit of time, and down in backward, of r units; in n steps each,
// middle of the step at its place on the ramp.
constexpr std::int64_t kUnit = 6'000'000, kPeak = 1'000'000;

WaveCycle ramps(double r, int n = 3000) {
  WaveCycle cycle;
  const auto back = static_cast<std::int64_t>(r * kUnit);
  cycle.period = Duration{kUnit + back};
  for (int i = 0; i < n; ++i) {
    cycle.at.push_back(kUnit * i / n);
    cycle.value.push_back(kPeak * (2 * i + 1) / (2 * n));
  }
  for (int i = 0; i < n; ++i) {
    cycle.at.push_back(kUnit + back * i / n);
    cycle.value.push_back(kPeak - kPeak * (2 * i + 1) / (2 * n));
  }
  return cycle;
}

double peak_over_solo(const WaveCycle& cycle, int waves, double offset) {
  const auto shift =
      Duration{static_cast<std::int64_t>(offset * static_cast<double>(cycle.period.count()))};
  return static_cast<double>(peak_of_waves(cycle, waves, shift)) / kPeak;
}

TEST(WaveOffset, HalfACycleApartPeaksAsTheLinearLaw) {
  const std::pair<double, double> table[] = {{1, 1.000}, {1.5, 1.167}, {2, 1.250}, {3, 1.333}};
  for (const auto& [r, expected] : testing::non_empty(table)) {
    EXPECT_NEAR(expected, 1 + (r - 1) / (2 * r), 5e-4);
    EXPECT_NEAR(peak_over_solo(ramps(r), 2, 0.5), expected, 2e-3) << r;
  }
}

TEST(WaveOffset, StartingWhereForwardEndsIsWorse) {
  const std::pair<double, double> table[] = {{1, 1.000}, {1.5, 1.333}, {2, 1.500}, {3, 1.667}};
  for (const auto& [r, expected] : testing::non_empty(table)) {
    EXPECT_NEAR(expected, 1 + (r - 1) / r, 5e-4);
    EXPECT_NEAR(peak_over_solo(ramps(r), 2, 1 / (1 + r)), expected, 2e-3) << r;
  }
}

TEST(WaveOffset, AlignedWavesPeakTwice) {
  for (const double r : {1.0, 2.0, 3.0}) EXPECT_NEAR(peak_over_solo(ramps(r), 2, 0), 2, 1e-3);
}

TEST(WaveOffset, ThreeWavesAThirdApartAreFlat) {
  const WaveCycle cycle = ramps(2);
  const WaveCycle sum = sum_of_waves(cycle, 3, cycle.period / 3);
  const auto [low, high] = std::minmax_element(sum.value.begin(), sum.value.end());
  EXPECT_NEAR(static_cast<double>(*low) / kPeak, 1.5, 2e-3);
  EXPECT_NEAR(static_cast<double>(*high) / kPeak, 1.5, 2e-3);
}

// Mean over peak: half for one wave, 80 % for two half a cycle apart, all of it for three.
TEST(WaveOffset, MoreWavesUseMoreOfThePeak) {
  const WaveCycle cycle = ramps(2);
  const auto use = [&](int waves) {
    const WaveCycle sum = sum_of_waves(cycle, waves, cycle.period / waves);
    return mean_of(sum) / static_cast<double>(peak_of(sum));
  };
  EXPECT_NEAR(use(1), 0.5, 1e-3);
  EXPECT_NEAR(use(2), 0.8, 2e-3);
  EXPECT_NEAR(use(3), 1.0, 2e-3);
}

TEST(WaveOffset, ScanFindsHalfACycle) {
  const std::vector<std::int64_t> scan = offset_scan(ramps(2), 2, 200);
  ASSERT_EQ(scan.size(), 201u);
  EXPECT_EQ(best_offset(scan), 100u);
  EXPECT_EQ(scan.front(), scan.back());
}

TEST(WaveOffset, OfEqualOffsetsTheMiddleIsBest) {
  EXPECT_EQ(best_offset({9, 5, 5, 5, 9, 5}), 2u);
  EXPECT_EQ(best_offset({7}), 0u);
}

TEST(WaveOffset, CycleIsAPartOfTheCurve) {
  const StepCurve curve = step_curve({0, 10, 20, 35}, {5, 8, 3, 4});
  const WaveCycle cycle = wave_cycle(curve, Instant{12}, Duration{20});
  EXPECT_EQ(cycle.at, (std::vector<std::int64_t>{0, 8}));
  EXPECT_EQ(cycle.value, (std::vector<std::int64_t>{8, 3}));
  EXPECT_THROW(wave_cycle(curve, Instant{0}, Duration{0}), Error);
}

std::int64_t value_of(const WaveCycle& cycle, std::int64_t t) {
  const std::int64_t period = cycle.period.count();
  const std::int64_t at = ((t % period) + period) % period;
  std::size_t i = 0;
  while (i + 1 < cycle.at.size() && cycle.at[i + 1] <= at) ++i;
  return cycle.value[i];
}

WaveCycle any_cycle() {
  WaveCycle cycle;
  cycle.period = Duration{*rc::gen::inRange(1, 40)};
  for (std::int64_t t = 0; t < cycle.period.count(); ++t)
    if (t == 0 || *rc::gen::inRange(0, 3) == 0) {
      cycle.at.push_back(t);
      cycle.value.push_back(*rc::gen::inRange(0, 100));
    }
  return cycle;
}

RC_GTEST_PROP(WaveOffset, SumIsTheSumAtEveryInstant, ()) {
  const WaveCycle cycle = any_cycle();
  const int waves = *rc::gen::inRange(1, 5);
  const std::int64_t offset = *rc::gen::inRange(-50, 50);
  const WaveCycle sum = sum_of_waves(cycle, waves, Duration{offset});
  std::int64_t peak = 0;
  for (std::int64_t t = 0; t < cycle.period.count(); ++t) {
    std::int64_t expected = 0;
    for (int j = 0; j < waves; ++j) expected += value_of(cycle, t - j * offset);
    RC_ASSERT(value_of(sum, t) == expected);
    peak = std::max(peak, expected);
  }
  RC_ASSERT(peak_of_waves(cycle, waves, Duration{offset}) == peak);
}

}  // namespace
}  // namespace trainyard
