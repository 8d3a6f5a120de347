#include "core/memory/place_buffers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "core/base/random.h"
#include "tests/support/programs.h"

namespace trainyard {
namespace {

bool in_time(const Lifetime& a, const Lifetime& b) { return a.from < b.to && b.from < a.to; }

// Layers of forward tensors freed by their backwards, with short-lived ones between: traces as
// training makes them.
std::vector<Lifetime> trace(std::uint64_t seed) {
  const Random random(seed);
  std::uint64_t next = 0;
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return random.between(next++, low, high);
  };
  std::vector<Lifetime> lives;
  const std::int64_t layers = pick(1, 12);
  for (std::int64_t m = 0; m < pick(1, 4); ++m)
    for (std::int64_t l = 0; l < layers; ++l) {
      const std::int64_t made = m * pick(1, 8) + l;
      lives.push_back({made, made + 2 * (layers - l) + pick(0, 3), Bytes{pick(0, 40) * 64}});
      lives.push_back({made, made + pick(0, 2), Bytes{pick(1, 5000)}});
    }
  return lives;
}

std::uint64_t cases() {
  const char* given = std::getenv("TRAINYARD_PROPERTY_CASES");
  return given != nullptr ? 10 * std::strtoull(given, nullptr, 10) : 10000;
}

TEST(PlaceBuffers, NothingOverlapsAndLittleIsLost) {
  std::uint64_t close = 0;
  const std::uint64_t n = cases();
  for (std::uint64_t seed = 0; seed < n; ++seed) {
    const std::vector<Lifetime> lives = trace(seed);
    const Placement1D placed = place(lives);
    for (std::size_t i = 0; i < lives.size(); ++i) {
      ASSERT_EQ(placed.offsets[i].value % 64, 0);
      for (std::size_t j = 0; j < i; ++j) {
        if (!in_time(lives[i], lives[j]) || lives[i].from >= lives[i].to ||
            lives[j].from >= lives[j].to)
          continue;
        ASSERT_TRUE(placed.offsets[i] + lives[i].bytes <= placed.offsets[j] ||
                    placed.offsets[j] + lives[j].bytes <= placed.offsets[i])
            << "seed " << seed << ", lives " << j << " and " << i;
      }
    }
    ASSERT_GE(placed.reach, placed.lower_bound);
    close += 10 * placed.reach.value <= 12 * placed.lower_bound.value ? 1 : 0;
  }
  EXPECT_GE(100 * close, 95 * n) << close << " of " << n;
}

TEST(PlaceBuffers, AnEndAndABeginningMeet) {
  const std::vector<Lifetime> lives = {{0, 5, Bytes{100}}, {5, 9, Bytes{100}}, {4, 6, Bytes{64}}};
  const Placement1D placed = place(lives);
  EXPECT_EQ(placed.offsets[0], Bytes{0});
  EXPECT_EQ(placed.offsets[1], Bytes{0});
  EXPECT_EQ(placed.offsets[2], Bytes{128});
  EXPECT_EQ(placed.reach, Bytes{192});
  EXPECT_EQ(placed.lower_bound, Bytes{192});
}

TEST(PlaceBuffers, WhatIsNeverThereTakesNoPlace) {
  const std::vector<Lifetime> lives = {{3, 3, Bytes{1000}}, {0, 9, Bytes{}}, {0, 9, Bytes{1}}};
  const Placement1D placed = place(lives);
  EXPECT_EQ(placed.reach, Bytes{64});
  EXPECT_EQ(placed.lower_bound, Bytes{64});
  EXPECT_EQ(place({}).reach, Bytes{});
}

// The largest first, into the lowest gap that holds it.
TEST(PlaceBuffers, FillsGaps) {
  const std::vector<Lifetime> lives = {
      {0, 2, Bytes{256}}, {0, 9, Bytes{192}}, {2, 9, Bytes{128}}, {2, 9, Bytes{64}}};
  const Placement1D placed = place(lives);
  EXPECT_EQ(placed.offsets[0], Bytes{0});
  EXPECT_EQ(placed.offsets[1], Bytes{256});
  EXPECT_EQ(placed.offsets[2], Bytes{0});
  EXPECT_EQ(placed.offsets[3], Bytes{128});
  EXPECT_EQ(placed.reach, placed.lower_bound);
}

TEST(PlaceBuffers, OfAProgram) {
  const Program p = testing::pipeline();
  Timeline t = testing::play(p, [](const Task&) { return Duration{1000}; });
  const BufferPlaces places = place_buffers(p, t, {0});
  EXPECT_GE(places.reach, places.lower_bound);
  std::size_t persistent = 0;
  for (const Buffer& b : p.buffers) persistent += b.persistent && b.device == DeviceId{0} ? 1u : 0u;
  std::size_t found = 0;
  for (const auto& [key, offset] : places.offset) {
    EXPECT_EQ(p.buffers[key.first].device, DeviceId{0});
    found += key.second < 0 ? 1u : 0u;
  }
  EXPECT_EQ(found, persistent);
  EXPECT_GT(places.offset.size(), persistent);
}

}  // namespace
}  // namespace trainyard
