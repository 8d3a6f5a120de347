#include "visualizers/viewmodel/viewport.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>

#include "tests/support/non_empty.h"
#include "visualizers/viewmodel/time_axis.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

Viewport plot(Instant from, Instant to) { return {{100, 0, 1000, 50}, from, to}; }
const TimeLimits kLimits{0s, 10s};

TEST(Viewport, MapsTheEndsOfThePlotToTheEndsOfTheTime) {
  const Viewport v = plot(2s, 4s);
  EXPECT_EQ(x_of(v, 2s), 100);
  EXPECT_EQ(x_of(v, 3s), 600);
  EXPECT_EQ(x_of(v, 4s), 1100);
  EXPECT_EQ(time_at(v, 600), Instant{3s});
  EXPECT_EQ(x_of(v, 5s), 1600) << "outside the plot keeps its place";
}

TEST(Viewport, ZoomKeepsTheInstantUnderThePointer) {
  const Viewport v = zoom(plot(2s, 4s), 2, 350, kLimits);
  EXPECT_EQ(v.to - v.from, 1s);
  EXPECT_EQ(time_at(v, 350), Instant{2500ms});
}

TEST(Viewport, PanIsUndoneByPanningBack) {
  EXPECT_TRUE(rc::check([] {
    const Viewport v =
        plot(Instant{*rc::gen::inRange<std::int64_t>(2'000'000'000, 4'000'000'000)}, 6s);
    const double dx = *rc::gen::inRange(-300, 300);
    const Viewport back = pan(pan(v, dx, kLimits), -dx, kLimits);
    RC_ASSERT(back.from == v.from);
    RC_ASSERT(back.to == v.to);
  }));
}

TEST(Viewport, ZoomIsUndoneByZoomingBackToWithinAPixelsThousandth) {
  EXPECT_TRUE(rc::check([] {
    const Viewport v = plot(4s, 5s);
    const double x = *rc::gen::inRange(100, 1100), factor = 1.0 + *rc::gen::inRange(1, 100) / 50.0;
    const Viewport back = zoom(zoom(v, factor, x, kLimits), 1 / factor, x, kLimits);
    RC_ASSERT(std::fabs(x_of(v, back.from) - 100) < 1e-3);
    RC_ASSERT(std::fabs(x_of(v, back.to) - 1100) < 1e-3);
  }));
}

TEST(Viewport, PixelsAndTimesAreInverse) {
  EXPECT_TRUE(rc::check([] {
    const auto from = *rc::gen::inRange<std::int64_t>(-1'000'000'000'000, 1'000'000'000'000);
    const auto width = *rc::gen::inRange<std::int64_t>(1'000, 1'000'000'000'000);
    const Viewport v = plot(Instant{from}, Instant{from + width});
    const Instant t{from + *rc::gen::inRange<std::int64_t>(0, width)};
    RC_ASSERT(time_at(v, x_of(v, t)) == t);
  }));
}

TEST(Viewport, StaysNearTheData) {
  EXPECT_EQ(pan(plot(0s, 1s), 1e9, kLimits).from, Instant{-50ms})
      << "5 % of the viewport before the data";
  EXPECT_EQ(pan(plot(0s, 1s), -1e9, kLimits).to, Instant{10s + 50ms});
  const Viewport whole = zoom(plot(0s, 1s), 1e-9, 600, kLimits);
  EXPECT_LE(whole.to - whole.from, 12s);
  EXPECT_LE(whole.from, Instant{0s});
  EXPECT_GE(whole.to, Instant{10s});
  EXPECT_EQ(
      (zoom(plot(0s, 1s), 1e30, 600, kLimits).to - zoom(plot(0s, 1s), 1e30, 600, kLimits).from),
      100ns);
}

TEST(Viewport, FitsARangeAndWidensWhatIsTooShort) {
  const Viewport v = fit(plot(0s, 1s), 3s, 4s, kLimits);
  EXPECT_EQ(v.from, Instant{3s});
  EXPECT_EQ(v.to, Instant{4s});
  const Viewport point = fit(plot(0s, 1s), 3s, 3s, kLimits);
  EXPECT_EQ(point.to - point.from, 100ns);
  EXPECT_LE(point.from, Instant{3s});
}

TEST(Viewport, NonsenseChangesNothingAndHugeTimesDoNotOverflow) {
  const Viewport v = plot(2s, 4s);
  for (const double factor : {0.0, -1.0, std::nan(""), HUGE_VAL})
    EXPECT_EQ(zoom(v, factor, 600, kLimits).from, v.from);
  EXPECT_EQ(pan(v, std::nan(""), kLimits).from, v.from);
  EXPECT_EQ(time_at(v, std::nan("")), v.from);
  const TimeLimits endless{Instant::min(), Instant::max()};
  const Viewport all = fit(v, Instant::min(), Instant::max(), endless);
  EXPECT_GT(all.to, all.from);
  EXPECT_TRUE(std::isfinite(x_of(all, Instant::max())));
  EXPECT_GT(zoom(all, 3, 700, endless).to, zoom(all, 3, 700, endless).from);
  EXPECT_GT(time_at(all, 1e300), time_at(all, -1e300));
  const Viewport none{{0, 0, 0, 0}, 1s, 1s};
  EXPECT_TRUE(std::isfinite(x_of(none, 5s)));
}

TEST(TimeAxis, HasOneUnitAndRoundSteps) {
  const TimeAxis axis = time_axis(plot(0s, 3s));
  EXPECT_EQ(axis.step, 500ms);
  std::vector<std::string> labels;
  for (const Tick& tick : axis.ticks)
    if (tick.major) labels.push_back(tick.label);
  EXPECT_EQ(labels, (std::vector<std::string>{"0.0 s", "0.5", "1.0", "1.5", "2.0", "2.5 s"}));
}

TEST(TimeAxis, NegativeTimesHaveATrueMinus) {
  const TimeAxis axis = time_axis(plot(-100us, 100us), 250);
  EXPECT_EQ(axis.step, 50us);
  EXPECT_EQ(axis.ticks.front().label, "\u2212100 \u00B5s");
}

TEST(TimeAxis, TicksKeepTheirDistanceAndStandOnMultiples) {
  EXPECT_TRUE(rc::check([] {
    const auto from = *rc::gen::inRange<std::int64_t>(-1'000'000'000'000, 1'000'000'000'000);
    const auto width = *rc::gen::inRange<std::int64_t>(1, 1'000'000'000'000);
    const Viewport v = plot(Instant{from}, Instant{from + width});
    const TimeAxis axis = time_axis(v);
    RC_ASSERT(axis.step.count() >= 80 * ns_per_px(v) * 0.999);
    RC_ASSERT(axis.step.count() == 1 || axis.step.count() <= 200 * ns_per_px(v) * 1.001 ||
              axis.step < 10ns);
    RC_ASSERT(axis.step.count() % axis.minor.count() == 0);
    for (const Tick& tick : testing::non_empty(axis.ticks)) {
      RC_ASSERT(tick.at >= v.from && tick.at < v.to);
      RC_ASSERT(tick.at.count() % axis.minor.count() == 0);
      RC_ASSERT(tick.major == !tick.label.empty());
    }
  }));
}

}  // namespace
}  // namespace trainyard
