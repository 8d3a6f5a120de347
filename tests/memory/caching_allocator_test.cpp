// Tests the rules with small exact examples, and properties of any stream of allocations.
#include "core/memory/caching_allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "core/base/random.h"
#include "tests/support/cases.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

constexpr Bytes operator""_MiB(unsigned long long n) {
  return Bytes{static_cast<std::int64_t>(n) * 1024 * 1024};
}

TEST(CachingAllocator, RoundsBlocksAndSegmentsAsTheRulesSay) {
  EXPECT_EQ(CachingAllocator::rounded(Bytes{1}), Bytes{512});
  EXPECT_EQ(CachingAllocator::rounded(Bytes{512}), Bytes{512});
  EXPECT_EQ(CachingAllocator::rounded(Bytes{513}), Bytes{1024});
  EXPECT_EQ(CachingAllocator::segment_of(Bytes{512}), 2_MiB);
  EXPECT_EQ(CachingAllocator::segment_of(1_MiB), 2_MiB);
  EXPECT_EQ(CachingAllocator::segment_of(1_MiB + Bytes{512}), 20_MiB);
  EXPECT_EQ(CachingAllocator::segment_of(10_MiB - Bytes{512}), 20_MiB);
  EXPECT_EQ(CachingAllocator::segment_of(10_MiB), 10_MiB);
  EXPECT_EQ(CachingAllocator::segment_of(10_MiB + Bytes{512}), 12_MiB);
}

TEST(CachingAllocator, SmallBlocksShareASegmentOfTwoMebibytes) {
  CachingAllocator a;
  for (int i = 0; i < 4096; ++i) ASSERT_TRUE(a.allocate(Bytes{300}));
  EXPECT_EQ(a.reserved(), 2_MiB);
  EXPECT_EQ(a.allocated(), 2_MiB);
  EXPECT_EQ(a.requested(), Bytes{4096 * 300});
  ASSERT_TRUE(a.allocate(Bytes{300}));
  EXPECT_EQ(a.reserved(), 4_MiB);
}

TEST(CachingAllocator, TakesTheSmallestBlockThatIsLargeEnough) {
  CachingAllocator a;
  const auto large = *a.allocate(40_MiB), wall = *a.allocate(12_MiB), small = *a.allocate(16_MiB);
  EXPECT_EQ(a.reserved(), 68_MiB);
  const std::uint32_t segment = a.place(small).segment;
  a.free(large), a.free(small);
  const auto again = *a.allocate(14_MiB);
  EXPECT_EQ(a.place(again).segment, segment);
  EXPECT_EQ(a.reserved(), 68_MiB);
  EXPECT_EQ(a.place(again).size, 14_MiB);  // 2 MiB are left over and stay a block
  a.free(wall);
}

TEST(CachingAllocator, KeepsALargeBlockWholeWhereLittleWouldBeLeft) {
  CachingAllocator a;
  a.free(*a.allocate(16_MiB));
  const auto taken = *a.allocate(15_MiB);  // exactly 1 MiB would be left
  EXPECT_EQ(a.place(taken).size, 16_MiB);
  EXPECT_EQ(a.allocated(), 16_MiB);
  EXPECT_EQ(a.requested(), 15_MiB);
}

TEST(CachingAllocator, FreedNeighboursJoin) {
  CachingAllocator a;
  const auto one = *a.allocate(4_MiB), two = *a.allocate(4_MiB), three = *a.allocate(4_MiB);
  EXPECT_EQ(a.reserved(), 20_MiB);
  a.free(one), a.free(three), a.free(two);
  const auto all = *a.allocate(9_MiB);
  EXPECT_EQ(a.place(all).offset, Bytes{0});
  EXPECT_EQ(a.reserved(), 20_MiB);
}

// The known weakness of this allocator: free memory in pieces into which nothing fits.
TEST(CachingAllocator, PiecesThatNothingFitsIntoStayReserved) {
  CachingAllocator plain, expandable({.expandable_segments = true});
  for (CachingAllocator* a : {&plain, &expandable}) {
    std::vector<CachingAllocator::Handle> held;
    for (int i = 0; i < 8; ++i) held.push_back(*a->allocate(100_MiB));
    for (const CachingAllocator::Handle h : held) a->free(h);
    ASSERT_TRUE(a->allocate(150_MiB));
  }
  EXPECT_EQ(plain.reserved(), 950_MiB);
  EXPECT_EQ(expandable.reserved(), 800_MiB);
}

TEST(CachingAllocator, GivesFreeSegmentsBackBeforeItGivesUp) {
  CachingAllocator a({.capacity = 100_MiB});
  const auto first = *a.allocate(60_MiB);
  a.free(first);
  EXPECT_EQ(a.retries(), 0);
  ASSERT_TRUE(a.allocate(80_MiB));
  EXPECT_EQ(a.retries(), 1);
  EXPECT_EQ(a.reserved(), 80_MiB);
  EXPECT_FALSE(a.allocate(30_MiB));
  EXPECT_EQ(a.retries(), 2);
  EXPECT_EQ(a.reserved(), 80_MiB);
}

TEST(CachingAllocator, OldFreeSegmentsGoBackAboveTheThreshold) {
  CachingAllocator a({.capacity = 100_MiB, .collect_above = 0.5});
  a.free(*a.allocate(40_MiB));
  ASSERT_TRUE(a.allocate(44_MiB));
  EXPECT_EQ(a.reserved(), 44_MiB);
  EXPECT_EQ(a.retries(), 0);
}

TEST(CachingAllocator, ExpandableSegmentsMapWholePages) {
  CachingAllocator a({.expandable_segments = true});
  const auto one = *a.allocate(3_MiB);
  EXPECT_EQ(a.reserved(), 20_MiB);
  const auto two = *a.allocate(25_MiB);
  EXPECT_EQ(a.reserved(), 40_MiB);
  EXPECT_EQ(a.place(two).segment, a.place(one).segment);
  a.free(one), a.free(two);
  a.release_cached();
  EXPECT_EQ(a.reserved(), Bytes{0});
  ASSERT_TRUE(a.allocate(21_MiB));
  EXPECT_EQ(a.reserved(), 40_MiB);
}

struct Held {
  CachingAllocator::Handle handle;
  Bytes asked;
};

void expect_apart(const CachingAllocator& a, const std::vector<Held>& held) {
  std::vector<CachingAllocator::Place> places;
  for (const Held& h : held) {
    places.push_back(a.place(h.handle));
    ASSERT_GE(places.back().size, h.asked);
    ASSERT_EQ(places.back().offset.value % 512, 0);
  }
  std::sort(places.begin(), places.end(), [](const auto& x, const auto& y) {
    return std::pair(x.segment, x.offset) < std::pair(y.segment, y.offset);
  });
  for (std::size_t i = 1; i < places.size(); ++i)
    if (places[i].segment == places[i - 1].segment) {
      ASSERT_GE(places[i].offset, places[i - 1].offset + places[i - 1].size);
    }
}

// Any stream: sizes of all kinds, freed in any order, with and without a limit.
TEST(CachingAllocator, AnyStreamKeepsItsPromises) {
  for (std::uint64_t seed = 0; seed < testing::cases(600, 150); ++seed) {
    const Random random(seed);
    std::uint64_t next = 0;
    const auto pick = [&](std::int64_t low, std::int64_t high) {
      return random.between(next++, low, high);
    };
    AllocatorRules rules;
    rules.expandable_segments = pick(0, 1) == 1;
    if (pick(0, 1) == 1) rules.capacity = Bytes{pick(32, 400) * 1024 * 1024};
    if (pick(0, 2) == 0) rules.collect_above = 0.7;
    CachingAllocator a(rules);
    std::vector<Held> held;
    Bytes asked{};
    for (int step = 0; step < 120; ++step) {
      if (held.empty() || pick(0, 4) > 1) {
        const std::int64_t kind = pick(0, 3);
        const Bytes bytes{kind == 0   ? pick(1, 5000)
                          : kind == 1 ? pick(1, 1 << 20)
                          : kind == 2 ? pick(1 << 20, 11 << 20)
                                      : pick(1 << 20, 64 << 20)};
        const auto got = a.allocate(bytes);
        if (!got) {
          ASSERT_GT(rules.capacity.value, 0) << "seed " << seed;
          continue;
        }
        held.push_back({*got, bytes});
        asked += bytes;
      } else {
        const auto at =
            static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(held.size()) - 1));
        a.free(held[at].handle);
        asked -= held[at].asked;
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(at));
      }
      ASSERT_EQ(a.requested(), asked) << "seed " << seed;
      ASSERT_GE(a.allocated(), a.requested()) << "seed " << seed;
      ASSERT_GE(a.reserved(), a.allocated()) << "seed " << seed;
      const CachingAllocator::Unused unused = a.unused();
      ASSERT_EQ(a.reserved(), a.allocated() + unused.small + unused.shared + unused.own);
      if (rules.capacity.value > 0) {
        ASSERT_LE(a.reserved(), rules.capacity) << "seed " << seed;
      }
      if (step % 10 == 0) expect_apart(a, held);
    }
    while (!held.empty()) a.free(held.back().handle), held.pop_back();
    EXPECT_EQ(a.allocated(), Bytes{0}) << "seed " << seed;
    a.release_cached();
    EXPECT_EQ(a.reserved(), Bytes{0}) << "seed " << seed;
  }
}

// In a fresh allocator nothing is reused: only which blocks there are counts, where each has a
// segment of its own.
TEST(CachingAllocator, LargeBlocksReserveTheSameInAnyOrder) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Random random(seed);
    std::vector<Bytes> sizes;
    for (std::uint64_t i = 0; i < 20; ++i)
      sizes.push_back(Bytes{random.between(i, 5, 40) * 2 * 1024 * 1024});
    CachingAllocator one, other;
    for (const Bytes b : testing::non_empty(sizes)) ASSERT_TRUE(one.allocate(b));
    std::reverse(sizes.begin(), sizes.end());
    for (const Bytes b : testing::non_empty(sizes)) ASSERT_TRUE(other.allocate(b));
    EXPECT_EQ(one.reserved(), other.reserved());
    EXPECT_EQ(one.reserved(), one.allocated());
  }
}

}  // namespace
}  // namespace trainyard
