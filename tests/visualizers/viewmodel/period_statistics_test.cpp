#include "visualizers/viewmodel/period_statistics.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>

namespace trainyard {
namespace {

StepCurve random_curve() {
  const int count = *rc::gen::inRange(1, 12);
  std::vector<std::int64_t> at, value;
  std::int64_t now = *rc::gen::inRange(0, 5);
  for (int i = 0; i < count; ++i) {
    at.push_back(now);
    value.push_back(*rc::gen::inRange(0, 100));
    now += *rc::gen::inRange(1, 6);
  }
  return step_curve(at, value);
}

TEST(PeriodStatistics, AreThoseOfEachNanosecond) {
  EXPECT_TRUE(rc::check([] {
    const StepCurve a = random_curve(), b = random_curve();
    const auto from = *rc::gen::inRange<std::int64_t>(0, 40);
    const auto to = from + *rc::gen::inRange<std::int64_t>(1, 40);
    std::vector<double> x, y;
    std::int64_t risen = 0;
    for (std::int64_t t = from; t < to; ++t) {
      x.push_back(static_cast<double>(value_at(a, Instant{t})));
      y.push_back(static_cast<double>(value_at(b, Instant{t})));
      if (t > from)
        risen += std::max<std::int64_t>(0, value_at(a, Instant{t}) - value_at(a, Instant{t - 1}));
    }
    const auto mean = [](const std::vector<double>& v) {
      double sum = 0;
      for (const double each : v) sum += each;
      return sum / static_cast<double>(v.size());
    };
    const WaveStatistics found = wave_statistics(a, Instant{from}, Instant{to});
    RC_ASSERT(static_cast<double>(found.lowest) == *std::min_element(x.begin(), x.end()));
    RC_ASSERT(static_cast<double>(found.highest) == *std::max_element(x.begin(), x.end()));
    RC_ASSERT(std::abs(found.mean - mean(x)) < 1e-9);
    RC_ASSERT(found.risen == risen);
    double ab = 0, aa = 0, bb = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      ab += (x[i] - mean(x)) * (y[i] - mean(y));
      aa += (x[i] - mean(x)) * (x[i] - mean(x));
      bb += (y[i] - mean(y)) * (y[i] - mean(y));
    }
    const bool flat = std::all_of(x.begin(), x.end(), [&](double v) { return v == x[0]; }) ||
                      std::all_of(y.begin(), y.end(), [&](double v) { return v == y[0]; });
    const double expected = flat ? 0 : ab / std::sqrt(aa * bb);
    RC_ASSERT(std::abs(correlation(a, b, Instant{from}, Instant{to}) - expected) < 1e-9);
  }));
}

TEST(PeriodStatistics, OneFallsAsTheOtherRises) {
  const StepCurve tick = step_curve({0, 10, 20, 30}, {0, 5, 0, 5});
  const StepCurve tock = step_curve({0, 10, 20, 30}, {7, 2, 7, 2});
  EXPECT_DOUBLE_EQ(correlation(tick, tock, Instant{0}, Instant{40}), -1);
  EXPECT_DOUBLE_EQ(correlation(tick, tick, Instant{0}, Instant{40}), 1);
  EXPECT_EQ(correlation(tick, tock, Instant{0}, Instant{10}), 0) << "nothing changes";
  const WaveStatistics s = wave_statistics(tick, Instant{5}, Instant{25});
  EXPECT_EQ(s.amplitude(), 5);
  EXPECT_DOUBLE_EQ(s.mean, 2.5);
  EXPECT_EQ(s.risen, 5);
  EXPECT_EQ(wave_statistics(tick, Instant{12}, Instant{12}).mean, 5);
}

}  // namespace
}  // namespace trainyard
