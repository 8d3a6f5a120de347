#include "core/memory/place_buffers.h"

#include <gtest/gtest.h>

#include "tests/support/non_empty.h"
#include "tests/support/programs.h"

namespace trainyard {
namespace {

TEST(PlaceBuffers, OfAProgram) {
  const Program p = testing::pipeline();
  Timeline t = testing::play(p, [](const Task&) { return Duration{1000}; });
  const BufferPlaces places = place_buffers(p, t, {0});
  EXPECT_GE(places.reach, places.lower_bound);
  std::size_t persistent = 0;
  for (const Buffer& b : p.buffers) persistent += b.persistent && b.device == DeviceId{0} ? 1u : 0u;
  std::size_t found = 0;
  for (const auto& [key, offset] : testing::non_empty(places.offset)) {
    EXPECT_EQ(p.buffers[key.first].device, DeviceId{0});
    found += key.second < 0 ? 1u : 0u;
  }
  EXPECT_EQ(found, persistent);
  EXPECT_GT(places.offset.size(), persistent);
}

}  // namespace
}  // namespace trainyard
