#include "app/desktop/session/frame_rate.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

using namespace std::chrono_literals;

TEST(FrameRate, CountsWholeSeconds) {
  FrameRate rate;
  for (int i = 0; i < 50; ++i) rate.tick(20ms * i);
  EXPECT_EQ(rate.per_second(), 0);
  rate.tick(1000ms);
  EXPECT_EQ(rate.per_second(), 50);
  // The next second has a frame every 25 ms.
  for (int i = 1; i <= 40; ++i) rate.tick(1000ms + 25ms * i);
  EXPECT_EQ(rate.per_second(), 40);
}

TEST(FrameRate, WhereNobodyLookedIsNotCounted) {
  FrameRate rate;
  for (int i = 0; i <= 50; ++i) rate.tick(20ms * i);
  rate.tick(30s);
  EXPECT_EQ(rate.per_second(), 50);
  for (int i = 1; i <= 100; ++i) rate.tick(30s + 10ms * i);
  EXPECT_EQ(rate.per_second(), 100);
}

}  // namespace
}  // namespace trainyard
