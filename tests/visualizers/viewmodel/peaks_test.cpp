#include "visualizers/viewmodel/peaks.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <limits>

namespace trainyard {
namespace {

StepCurve curve_of(const std::vector<std::int64_t>& values) {
  std::vector<std::int64_t> at;
  for (std::size_t i = 0; i < values.size(); ++i) at.push_back(static_cast<std::int64_t>(i) * 10);
  return step_curve(at, values);
}

// How far the curve falls on one side of sample i before it is as high again; unlimited if it never
// is.
std::int64_t fall(const std::vector<std::int64_t>& v, std::size_t i, int step) {
  std::int64_t lowest = v[i];
  for (std::size_t j = i;;) {
    if (step < 0 ? j == 0 : j + 1 == v.size()) return std::numeric_limits<std::int64_t>::max();
    j = step < 0 ? j - 1 : j + 1;
    // Of equal samples the first counts as the higher one.
    if (v[j] > v[i] || (step < 0 && v[j] == v[i])) return v[i] - lowest;
    lowest = std::min(lowest, v[j]);
  }
}

std::vector<std::size_t> naive(const std::vector<std::int64_t>& v, std::int64_t rise) {
  std::vector<std::size_t> peaks;
  for (std::size_t i = 0; i < v.size(); ++i)
    if (fall(v, i, -1) >= rise && fall(v, i, +1) >= rise) peaks.push_back(i);
  return peaks;
}

TEST(Peaks, AreTheHighsBetweenFalls) {
  EXPECT_EQ(peaks_above(curve_of({0, 9, 1, 8, 2}), 3), (std::vector<std::size_t>{1, 3}));
  EXPECT_EQ(peaks_above(curve_of({0, 9, 7, 8, 2}), 3), (std::vector<std::size_t>{1}));
  EXPECT_EQ(peaks_above(curve_of({5, 1, 9}), 3), (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(peaks_above(curve_of({4, 4, 4}), 1), (std::vector<std::size_t>{0}));
}

TEST(Peaks, AreThoseOfTheDefinition) {
  EXPECT_TRUE(rc::check([] {
    std::vector<std::int64_t> values{*rc::gen::inRange<std::int64_t>(0, 12)};
    for (const int v : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 12)))
      values.push_back(v);
    const auto rise = *rc::gen::inRange<std::int64_t>(1, 6);
    const StepCurve curve = curve_of(values);
    const std::vector<std::size_t> found = peaks_above(curve, rise);
    RC_ASSERT(found == naive(values, rise));
    RC_ASSERT(std::find(found.begin(), found.end(), curve.peak) != found.end());
  }));
}

}  // namespace
}  // namespace trainyard
