#include <gtest/gtest.h>

#include "core/methods/catalogue.h"

namespace trainyard {
namespace {

TEST(GPipe, AllForwardThenAllBackward) {
  EXPECT_EQ(to_text(gpipe().order({.devices = 2, .stages = 2, .microbatches = 3}, {})),
            "d0/compute  0F0 0F1 0F2 0B0 0B1 0B2\n"
            "d1/compute  1F0 1F1 1F2 1B0 1B1 1B2\n");
}

TEST(GPipe, SeveralStagesADeviceAreWorkedThroughOneAfterTheOther) {
  EXPECT_EQ(to_text(gpipe().order({.devices = 2, .stages = 4, .microbatches = 2}, {})),
            "d0/compute  0F0 0F1 2F0 2F1 2B0 2B1 0B0 0B1\n"
            "d1/compute  1F0 1F1 3F0 3F1 3B0 3B1 1B0 1B1\n");
}

TEST(GPipe, EveryShapeIsAValidOrder) {
  for (int p = 1; p <= 8; ++p)
    for (int v : {1, 2, 3})
      for (int m : {1, 2, 5, 16}) {
        const ScheduleShape shape{.devices = p, .stages = p * v, .microbatches = m};
        EXPECT_TRUE(check(gpipe().order(shape, {}), shape).empty()) << p << " " << v << " " << m;
      }
}

}  // namespace
}  // namespace trainyard
