// Compares the memory of one device with a simple model of it, and checks its message when it is
// full.
#include "backends/cpu/memory/arena.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "backends/cpu/memory/free_ranges.h"
#include "core/base/error.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

Buffer buffer(Program& p, std::string_view name, Category category, Bytes bytes, int layer = -1) {
  Buffer made;
  made.name = p.names.intern(name);
  made.category = category;
  made.bytes = bytes;
  made.device = {0};
  made.layer = layer;
  return made;
}

Program buffers_of(const std::vector<std::int64_t>& sizes) {
  Program p;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    p.buffers.push_back(buffer(p, "b" + std::to_string(i), static_cast<Category>(i % kCategories),
                               Bytes{sizes[i]}));
  return p;
}

// Allocations never overlap and have the requested size, and the limit applies to their sum, to the
// byte.
TEST(Arena, AgreesWithASimpleModel) {
  const bool right = rc::check([] {
    const auto sizes =
        *rc::gen::container<std::vector<std::int64_t>>(8, rc::gen::inRange<std::int64_t>(0, 5000));
    const auto limit = *rc::gen::inRange<std::int64_t>(1, 20'000);
    const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1000));
    const Program p = buffers_of(sizes);
    BufferPlaces places;
    for (std::uint32_t b = 0; b < sizes.size(); b += 2)
      places.offset[{b, 0}] = Bytes{64 * *rc::gen::inRange<std::int64_t>(0, 100)};
    Arena arena(p, {0}, "d0", Bytes{limit});
    arena.plan(places);

    std::vector<Allocation> held;
    Bytes sum{}, most{};
    for (const int step : steps) {
      if (step % 3 > 0) {
        const auto which = static_cast<std::uint32_t>(step / 3) % 8;
        const bool fits = sum.value + sizes[which] <= limit;
        try {
          const Allocation made = arena.allocate({which}, step % 2);
          RC_ASSERT(fits || sizes[which] == 0);
          RC_ASSERT(static_cast<bool>(made) == (sizes[which] > 0));
          RC_ASSERT(reinterpret_cast<std::uintptr_t>(made.data) % 64 == 0u);
          RC_ASSERT(made.bytes.value == sizes[which]);
          for (const Allocation& other : held)
            RC_ASSERT(!made || !other || made.data + made.bytes.value <= other.data ||
                      other.data + other.bytes.value <= made.data);
          if (made) std::memset(made.data, step, static_cast<std::size_t>(made.bytes.value));
          held.push_back(made);
          sum += made.bytes;
          most = std::max(most, sum);
        } catch (const Error& error) {
          RC_ASSERT(error.kind() == Error::Kind::OutOfMemory);
          RC_ASSERT(!fits);
        }
      } else if (!held.empty()) {
        const std::size_t which = static_cast<std::size_t>(step) % held.size();
        sum -= held[which].bytes;
        arena.release(held[which]);
        RC_ASSERT(!held[which]);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
      }
      CategoryBytes by_category{};
      for (const Allocation& a : held) by_category[a.buffer.value % kCategories] += a.bytes;
      RC_ASSERT(arena.held() == by_category);
      RC_ASSERT(arena.most() == most);
    }
  });
  EXPECT_TRUE(right);
}

TEST(FreeRanges, AllGivenBackIsOneRangeAgain) {
  const bool right = rc::check([] {
    FreeRanges free(1 << 16);
    std::map<std::int64_t, std::int64_t> taken;
    for (const int step : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 100'000))) {
      const std::int64_t size = 64 * (1 + step % 37);
      if (step % 2 == 0) {
        if (const auto offset = free.take(size)) taken[*offset] = size;
      } else if (step % 3 == 0) {
        const std::int64_t offset = 64 * (step % 1024);
        const bool apart = std::none_of(taken.begin(), taken.end(), [&](const auto& t) {
          return t.first < offset + size && offset < t.first + t.second;
        });
        const bool took = free.take_at(offset, size);
        RC_ASSERT(took == (apart && offset + size <= 1 << 16));
        if (took) taken[offset] = size;
      } else if (!taken.empty()) {
        const auto one = std::next(taken.begin(), step % static_cast<std::int64_t>(taken.size()));
        RC_ASSERT(free.give_back(one->first, one->second));
        RC_ASSERT(!free.give_back(one->first, one->second));
        taken.erase(one);
      }
    }
    for (const auto& [offset, size] : taken) RC_ASSERT(free.give_back(offset, size));
    RC_ASSERT(free.intervals() == 1u);
    RC_ASSERT(free.largest() == 1 << 16);
  });
  EXPECT_TRUE(right);
}

TEST(FreeRanges, TakesTheSmallestHoleThatFits) {
  FreeRanges free(1024);
  EXPECT_TRUE(free.take_at(128, 64));
  EXPECT_TRUE(free.take_at(256, 64));
  EXPECT_EQ(free.take(64), 192);  // between the two
  EXPECT_EQ(free.take(128), 0);   // before the first
  EXPECT_EQ(free.take(1024), std::nullopt);
}

TEST(Arena, PlannedPlacesAreTakenWhereTheyAreFree) {
  const Program p = buffers_of({100, 200, 300});
  BufferPlaces places;
  places.offset[{0, 0}] = 0_B;
  places.offset[{1, 0}] = 512_B;
  places.offset[{2, 0}] = 64_B;
  Arena arena(p, {0}, "d0", {});
  arena.plan(places);
  Allocation first = arena.allocate({0}, 0), second = arena.allocate({1}, 0);
  EXPECT_EQ(second.data - first.data, 512);
  // Bytes 64 to 128 belong to the first allocation, so best fit finds the hole behind it.
  EXPECT_EQ(arena.allocate({2}, 0).data - first.data, 128);
  EXPECT_EQ(arena.reach(), 512_B + 256_B);
  EXPECT_EQ(arena.most(), 600_B);
}

TEST(Arena, SaysWhoseTheBytesAre) {
  Program p;
  const auto add = [&](std::string_view name, Category c, Bytes bytes, int layer = -1) {
    p.buffers.push_back(buffer(p, name, c, bytes, layer));
    return BufferId{static_cast<std::uint32_t>(p.buffers.size() - 1)};
  };
  Arena arena(p, {1}, "d1 (pipeline rank 1, peer 0)", 64_MiB);
  arena.allocate(add("weights", Category::Weights, 20_MiB), -1);
  const BufferId scores[] = {add("layers: attention scores", Category::Activations, 3_MiB, 4),
                             add("layers: attention scores", Category::Activations, 3_MiB, 5)};
  for (int microbatch = 0; microbatch < 4; ++microbatch)
    for (const BufferId b : scores) arena.allocate(b, microbatch);
  for (int i = 0; i < 6; ++i)
    arena.allocate(add("small " + std::to_string(i), Category::Activations, 1_MiB), 0);
  try {
    arena.allocate(add("layers: q_proj", Category::Activations, 16_MiB, 3), 2);
    FAIL() << "66 MiB fit into 64";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::OutOfMemory);
    EXPECT_STREQ(error.what(),
                 "d1 (pipeline rank 1, peer 0) has a limit of 64.0 MiB: 'layers: q_proj' of layer "
                 "3, microbatch 2, needs 16.0 MiB and 50.0 MiB are held: activations 30.0 MiB "
                 "(layers: attention scores 24.0 MiB of 2 layers in 4 microbatches, small 0 1.00 "
                 "MiB, small 1 1.00 MiB, small 2 1.00 MiB and 3 more 3.00 MiB), weights 20.0 MiB "
                 "(weights 20.0 MiB); it would take 66.0 MiB, 2.00 MiB too much");
  }
}

TEST(Arena, TheWaveIsWhatWasHeldWhen) {
  const Program p = buffers_of({100, 200, 200});
  Arena arena(p, {0}, "d0", {});
  Allocation weights = arena.allocate({0}, -1);
  arena.set_time(5ns);
  Allocation a = arena.allocate({1}, 0);
  arena.set_time(8ns);
  arena.release(a);
  a = arena.allocate({2}, 0);  // at the instant at which the other goes
  arena.set_time(9ns);
  arena.rename(a, {1}, 3);
  arena.set_time(11ns);
  arena.release(a);
  const MemoryWave wave = arena.take_wave();
  ASSERT_EQ(wave.samples.size(), 5u);
  EXPECT_EQ(wave.peak, 1u);
  const std::int64_t at[] = {0, 5, 8, 9, 11}, sums[] = {100, 300, 300, 300, 100};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(wave.samples[i].at.count(), at[i]);
    EXPECT_EQ(total(wave.samples[i].bytes).value, sums[i]);
  }
  EXPECT_EQ(wave.samples[2].bytes[2], 200_B);
  EXPECT_EQ(wave.samples[3].bytes[1], 200_B);
  EXPECT_EQ(arena.most_by_category()[1], 200_B);

  // Another pass begins at 0 with what is held.
  arena.set_time(2ns);
  arena.release(weights);
  arena.set_time(1ns);
  const MemoryWave next = arena.take_wave();
  ASSERT_EQ(next.samples.size(), 1u);
  EXPECT_EQ(total(next.samples[0].bytes), 0_B);
}

TEST(Arena, WhatIsFreedIsNoNumberAnyMore) {
  const Program p = buffers_of({64});
  Arena arena(p, {0}, "d0", {});
  arena.poison(true);
  Allocation a = arena.allocate({0}, 0);
  const auto* values = reinterpret_cast<const float*>(a.data);
  std::memset(a.data, 0, 64);
  arena.release(a);
  for (int i = 0; i < 16; ++i) EXPECT_NE(values[i], values[i]);
}

TEST(Arena, RefusesWhatItDoesNotHold) {
  const Program p = buffers_of({64, 128});
  Arena arena(p, {0}, "d0", {});
  Allocation a = arena.allocate({0}, 0), same = a;
  EXPECT_THROW(arena.rename(a, {1}, 0), Error);
  arena.release(a);
  arena.release(a);
  EXPECT_THROW(arena.release(same), Error);
}

// Copies have the same places, count once, and do not touch each other.
TEST(Arena, CopiesHaveTheSamePlacesAndTheirOwnBytes) {
  const Program p = buffers_of({100, 5000, 64});
  Arena arena(p, {0}, "d0", Bytes{6000}, 3);
  ASSERT_EQ(arena.copies(), 3);
  std::vector<Allocation> held;
  for (std::uint32_t b = 0; b < 3; ++b) held.push_back(arena.allocate({b}, -1));
  const auto fill = [&](const Allocation& a, int copy, int with) {
    std::memset(a.data + copy * arena.stride(), with, static_cast<std::size_t>(a.bytes.value));
  };
  for (int copy = 0; copy < 3; ++copy)
    for (std::size_t b = 0; b < 3; ++b) fill(held[b], copy, 10 * copy + static_cast<int>(b));
  for (int copy = 0; copy < 3; ++copy)
    for (std::size_t b = 0; b < 3; ++b) {
      const std::byte* const first = held[b].data + copy * arena.stride();
      EXPECT_TRUE(std::all_of(first, first + held[b].bytes.value, [&](std::byte x) {
        return x == static_cast<std::byte>(10 * copy + static_cast<int>(b));
      }));
      EXPECT_EQ(arena.contains(first), copy == 0);
    }
  EXPECT_EQ(arena.most(), Bytes{5164});
  EXPECT_THROW(static_cast<void>(arena.allocate({1}, 0)), Error);  // the limit is of one copy
  arena.poison(true);
  arena.release(held[0]);
  for (int copy = 0; copy < 3; ++copy)
    EXPECT_EQ(held[1].data[copy * arena.stride()], static_cast<std::byte>(10 * copy + 1));
}

}  // namespace
}  // namespace trainyard
