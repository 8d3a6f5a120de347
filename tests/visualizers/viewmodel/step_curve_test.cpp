#include "visualizers/viewmodel/step_curve.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <random>

#include "core/base/error.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

StepCurve random_curve(std::uint32_t seed, int samples) {
  std::mt19937 random(seed);
  std::vector<std::int64_t> at, value;
  std::int64_t t = -5000;
  for (int i = 0; i < samples; ++i) {
    at.push_back(t);
    value.push_back(static_cast<std::int64_t>(random() % 100'000) - 20'000);
    t += 1 + static_cast<std::int64_t>(random() % 50);
  }
  return step_curve(at, value);
}

ValueRange naive_range(const StepCurve& curve, std::int64_t from, std::int64_t to) {
  ValueRange range{value_at(curve, Instant{from}), value_at(curve, Instant{from})};
  for (std::size_t i = 0; i < curve.at.size(); ++i)
    if (curve.at[i] >= from && curve.at[i] < to)
      range = {std::min(range.low, curve.value[i]), std::max(range.high, curve.value[i])};
  return range;
}

TEST(StepCurve, HoldsUntilTheNextSample) {
  const StepCurve curve = step_curve({0, 10, 20}, {5, 9, 7});
  EXPECT_EQ(value_at(curve, -1ns), 5);
  EXPECT_EQ(value_at(curve, 9ns), 5);
  EXPECT_EQ(value_at(curve, 10ns), 9);
  EXPECT_EQ(value_at(curve, 1s), 7);
  EXPECT_EQ(curve.peak, 1u);
  EXPECT_EQ(range_of(curve, 0ns, 10ns), (ValueRange{5, 5})) << "half-open";
  EXPECT_EQ(range_of(curve, 5ns, 11ns), (ValueRange{5, 9}));
}

TEST(StepCurve, PyramidEqualsTheLoop) {
  EXPECT_TRUE(rc::check([] {
    const StepCurve curve =
        random_curve(*rc::gen::arbitrary<std::uint32_t>(), *rc::gen::inRange(1, 3000));
    const auto from = *rc::gen::inRange<std::int64_t>(-6000, 80'000);
    const auto to = from + *rc::gen::inRange<std::int64_t>(0, 80'000);
    RC_ASSERT(range_of(curve, Instant{from}, Instant{to}) == naive_range(curve, from, to));
  }));
}

TEST(StepCurve, FewSamplesAPixelAreExact) {
  EXPECT_TRUE(rc::check([] {
    const StepCurve curve =
        random_curve(*rc::gen::arbitrary<std::uint32_t>(), *rc::gen::inRange(1, 1500));
    const auto from = *rc::gen::inRange<std::int64_t>(-6000, 40'000);
    const std::int64_t part = *rc::gen::inRange<std::int64_t>(1, 900);
    const int count = *rc::gen::inRange(24, 60);
    std::vector<ValueRange> ranges;
    ranges_of(curve, Instant{from}, Instant{from + part * count}, count, ranges);
    for (int i = 0; i < count; ++i)
      RC_ASSERT(ranges[static_cast<std::size_t>(i)] ==
                naive_range(curve, from + i * part, from + (i + 1) * part));
  }));
}

TEST(StepCurve, ManySamplesAPixelSeeAllOfItAndAQuarterOfTheNeighboursAtMost) {
  const StepCurve curve = random_curve(3, 300'000);
  const std::int64_t end = curve.at.back();
  for (const int count : {7, 30, 100, 900}) {
    const std::int64_t part = end / count;
    std::vector<ValueRange> ranges;
    ranges_of(curve, 0ns, Instant{part * count}, count, ranges);
    for (int i = 0; i < count; ++i) {
      const ValueRange exact = naive_range(curve, i * part, (i + 1) * part);
      const ValueRange wide = naive_range(curve, i * part - part / 3, (i + 1) * part + part / 3);
      const ValueRange& found = ranges[static_cast<std::size_t>(i)];
      EXPECT_TRUE(found.low <= exact.low && found.high >= exact.high) << count << " " << i;
      EXPECT_TRUE(found.low >= wide.low && found.high <= wide.high) << count << " " << i;
    }
  }
}

TEST(StepCurve, PeaksAreTheSamplesOfTheRangesHighEnds) {
  EXPECT_TRUE(rc::check([] {
    const StepCurve curve =
        random_curve(*rc::gen::arbitrary<std::uint32_t>(), *rc::gen::inRange(1, 20'000));
    const Instant from{*rc::gen::inRange<std::int64_t>(-6000, 40'000)};
    const Instant to = from + Duration{*rc::gen::inRange<std::int64_t>(0, 600'000)};
    const int count = *rc::gen::inRange(1, 60);
    std::vector<ValueRange> ranges;
    std::vector<std::size_t> peaks;
    ranges_of(curve, from, to, count, ranges);
    highest_of(curve, from, to, count, peaks);
    RC_ASSERT(peaks.size() == ranges.size());
    for (std::size_t i = 0; i < peaks.size(); ++i)
      RC_ASSERT(curve.value[peaks[i]] == ranges[i].high);
  }));
}

TEST(StepCurve, OfEqualPeaksTheFirstIsTaken) {
  std::vector<std::int64_t> at(1000), value(1000, 3);
  for (std::size_t i = 0; i < at.size(); ++i) at[i] = static_cast<std::int64_t>(i);
  std::vector<std::size_t> peaks;
  highest_of(step_curve(at, value), 0ns, 1000ns, 1, peaks);
  EXPECT_EQ(peaks, std::vector<std::size_t>{0});
}

TEST(StepCurve, MorePixelsThanNanosecondsIsFine) {
  const StepCurve curve = step_curve({0, 1, 2}, {1, 2, 3});
  std::vector<ValueRange> ranges;
  ranges_of(curve, 0ns, 3ns, 30, ranges);
  EXPECT_EQ(ranges.front(), (ValueRange{1, 1}));
  EXPECT_EQ(ranges[15], (ValueRange{2, 2}));
  EXPECT_EQ(ranges.back(), (ValueRange{3, 3}));
}

TEST(StepCurve, RefusesWhatIsNotACurve) {
  EXPECT_THROW(step_curve({}, {}), Error);
  EXPECT_THROW(step_curve({1, 2}, {1}), Error);
  EXPECT_THROW(step_curve({1, 1}, {1, 2}), Error);
}

}  // namespace
}  // namespace trainyard
