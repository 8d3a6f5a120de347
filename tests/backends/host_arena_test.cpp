// Tests that a host's memory keeps what it was given, gives blocks again, and is never larger than
// what was once needed.
#include "backends/cpu/memory/host_arena.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace trainyard {
namespace {

TEST(HostArena, ABlockThatWasGivenBackIsGivenAgain) {
  HostArena host("the host", {});
  host.poison(true);
  std::byte* const first = host.take(Bytes{1 << 20});
  std::memset(first, 1, 1 << 20);
  host.give_back(first);
  EXPECT_EQ(host.spare(), Bytes{1 << 20});
  std::byte* const again = host.take(Bytes{1 << 20});
  EXPECT_EQ(again, first);
  EXPECT_EQ(again[0], std::byte{0xFF});
  EXPECT_EQ(again[(1 << 20) - 1], std::byte{0xFF});
  EXPECT_EQ(host.spare(), Bytes{});
  EXPECT_EQ(host.most(), Bytes{1 << 20});
}

TEST(HostArena, HoldsNoMoreThanWasOnceNeeded) {
  EXPECT_TRUE(rc::check([] {
    HostArena host("the host", {});
    struct Taken {
      std::byte* first;
      std::int64_t bytes;
      std::byte mark;
    };
    std::vector<Taken> taken;
    std::int64_t held = 0, most = 0;
    for (int step = 0; step < 60; ++step) {
      if (taken.empty() || *rc::gen::inRange(0, 2) == 0) {
        const std::int64_t bytes = 8 * *rc::gen::inRange<std::int64_t>(1, 6);
        const auto mark = static_cast<std::byte>(step);
        taken.push_back({host.take(Bytes{bytes}), bytes, mark});
        std::memset(taken.back().first, step, static_cast<std::size_t>(bytes));
        held += bytes, most = std::max(most, held);
      } else {
        const auto at = taken.begin() + *rc::gen::inRange<std::ptrdiff_t>(
                                            0, static_cast<std::ptrdiff_t>(taken.size()));
        for (std::int64_t i = 0; i < at->bytes; ++i) RC_ASSERT(at->first[i] == at->mark);
        held -= at->bytes;
        host.give_back(at->first);
        taken.erase(at);
      }
      RC_ASSERT(host.most() == Bytes{most});
      RC_ASSERT(Bytes{held} + host.spare() <= host.most());
    }
  }));
}

}  // namespace
}  // namespace trainyard
