#include "visualizers/time/overview_strip.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>

namespace trainyard {
namespace {

constexpr Rect kStripArea{0, 0, 1000 + kGutter + kPlotMargin, kOverview};

TEST(OverviewStrip, HasARowForEachWhileThereIsRoom) {
  for (const std::size_t rows : {1U, 8U, 9U, 36U, 37U, 1000U}) {
    const OverviewStrip strip = overview_strip(kStripArea, rows, Instant{1000});
    EXPECT_LE(strip.strip.height, 36.f);
    EXPECT_EQ(strip.rows, std::min<std::size_t>(rows, 36));
    std::size_t before = 0;
    for (std::size_t i = 0; i < strip.rows; ++i) {
      const std::size_t row = overview_row(strip, i, rows);
      EXPECT_LT(row, rows);
      EXPECT_TRUE(i == 0 || row > before);
      before = row;
    }
  }
  EXPECT_EQ(overview_strip(kStripArea, 0, Instant{1000}).rows, 0U);
}

// Finds the first instant in every device pixel that contains one.
TEST(OverviewStrip, TicksAreOneAPixel) {
  EXPECT_TRUE(rc::check([] {
    std::vector<std::int64_t> at =
        *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 100'000));
    std::sort(at.begin(), at.end());
    const OverviewStrip strip = overview_strip(kStripArea, 4, Instant{100'000});
    const double scale = *rc::gen::element(1.0, 2.0);
    const std::vector<float> xs =
        tick_columns(strip.whole, scale, at.size(), [&](std::size_t i) { return Instant{at[i]}; });
    RC_ASSERT(xs.empty() == at.empty());
    RC_ASSERT(static_cast<double>(xs.size()) <= 1000 * scale + 1);
    for (std::size_t i = 1; i < xs.size(); ++i) RC_ASSERT(xs[i] > xs[i - 1]);
    for (const std::int64_t t : at) {
      const double x = x_of(strip.whole, Instant{t});
      const bool told = std::any_of(xs.begin(), xs.end(), [&](float tick) {
        return std::abs(static_cast<double>(tick) - x) < 1 / scale + 0.02;
      });
      RC_ASSERT(told);
    }
  }));
}

TEST(OverviewStrip, DraggingKeepsTheLength) {
  const OverviewStrip strip = overview_strip(kStripArea, 4, Instant{100'000});
  const TimeRange shown{Instant{20'000}, Instant{40'000}};
  for (const float x : {0.f, kGutter, kGutter + 500, kGutter + 1000, 5000.f}) {
    const TimeRange moved = dragged_to(strip, shown, x, Instant{100'000});
    EXPECT_EQ(moved.length(), shown.length()) << x;
  }
  EXPECT_EQ(dragged_to(strip, shown, kGutter + 500, Instant{100'000}).from, Instant{40'000});
}

}  // namespace
}  // namespace trainyard
