// Tests what keys and wheel do along time.
#include "app/desktop/scene/time_navigator.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <Qt>

#include <cmath>

namespace trainyard {
namespace {

const TimeLimits kLimits{.first = Instant{}, .last = Instant{1'000'000}};
const Viewport kMiddle{{100, 0, 800, 50}, Instant{400'000}, Instant{600'000}};

std::optional<TimeRange> after(const InputFrame& frame) {
  std::optional<TimeRange> shown = TimeRange{kMiddle.from, kMiddle.to};
  EXPECT_TRUE(navigate_time(shown, kMiddle, kLimits, frame));
  return shown;
}

InputFrame key(int code) {
  InputFrame frame;
  frame.keys = {code};
  return frame;
}

TEST(TimeNavigator, KeysMoveByAnEighthAndZoomAboutTheMiddle) {
  EXPECT_EQ(after(key(Qt::Key_A)), (TimeRange{Instant{375'000}, Instant{575'000}}));
  EXPECT_EQ(after(key(Qt::Key_D)), (TimeRange{Instant{425'000}, Instant{625'000}}));
  EXPECT_EQ(after(key(Qt::Key_W)), (TimeRange{Instant{420'000}, Instant{580'000}}));
  EXPECT_EQ(after(key(Qt::Key_S)), (TimeRange{Instant{375'000}, Instant{625'000}}));
  EXPECT_EQ(after(key(Qt::Key_Home)), std::nullopt) << "all of it, whatever comes to be there";
}

TEST(TimeNavigator, OtherInputIsLeftToTheScene) {
  std::optional<TimeRange> shown;
  EXPECT_FALSE(navigate_time(shown, kMiddle, kLimits, key(Qt::Key_P)));
  InputFrame wheel;
  wheel.wheel_y = 1;
  EXPECT_FALSE(navigate_time(shown, kMiddle, kLimits, wheel)) << "the wheel alone scrolls rows";
  EXPECT_EQ(shown, std::nullopt);
}

RC_GTEST_PROP(TimeNavigator, TheInstantUnderThePointerStaysWhereItIs, ()) {
  InputFrame frame;
  frame.inside = true;
  frame.at = {100 + static_cast<float>(*rc::gen::inRange(0, 800)), 20};
  frame.modifiers = kControl;
  frame.wheel_y = *rc::gen::element(-1.f, 1.f);
  std::optional<TimeRange> shown;
  RC_ASSERT(navigate_time(shown, kMiddle, kLimits, frame));
  Viewport now = kMiddle;
  now.from = shown->from, now.to = shown->to;
  const double x = static_cast<double>(frame.at.x);
  RC_ASSERT(std::abs(to_seconds(time_at(now, x) - time_at(kMiddle, x))) * 1e9 <= 2);
}

}  // namespace
}  // namespace trainyard
