#include "core/memory/arena_solver.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/memory/best_fit.h"
#include "tests/memory/random_lives.h"
#include "tests/support/cases.h"

namespace trainyard {
namespace {

// Every offset of every lifetime in turn, in the order given: as slow as it is plain.
class BruteForce {
 public:
  BruteForce(std::vector<Lifetime> lives, std::int64_t capacity)
      : lives_(std::move(lives)), capacity_(capacity) {
    std::erase_if(lives_, [](const Lifetime& life) { return !ever_there(life); });
    std::stable_sort(lives_.begin(), lives_.end(), [](const Lifetime& a, const Lifetime& b) {
      return a.bytes.value * (a.to - a.from) > b.bytes.value * (b.to - b.from);
    });
  }
  bool fits(std::size_t i = 0) {
    if (i == lives_.size()) return true;
    for (std::int64_t at = 0; at + lives_[i].bytes.value <= capacity_; ++at) {
      const std::uint64_t bits = ((std::uint64_t{1} << lives_[i].bytes.value) - 1) << at;
      bool free = true;
      for (std::int64_t t = lives_[i].from; t < lives_[i].to; ++t)
        free = free && !(taken_[t] & bits);
      if (!free) continue;
      for (std::int64_t t = lives_[i].from; t < lives_[i].to; ++t) taken_[t] |= bits;
      const bool rest = fits(i + 1);
      for (std::int64_t t = lives_[i].from; t < lives_[i].to; ++t) taken_[t] &= ~bits;
      if (rest) return true;
    }
    return false;
  }

 private:
  std::vector<Lifetime> lives_;
  std::int64_t capacity_;
  std::uint64_t taken_[64] = {};
};

std::int64_t least_reach(const std::vector<Lifetime>& lives) {
  std::int64_t reach = most_alive(lives, 1_B).value;
  while (!BruteForce(lives, reach).fits()) ++reach;
  return reach;
}

// At most 12 each; every other leaves no room at its bound.
std::vector<Lifetime> small(std::uint64_t seed) {
  return seed % 2 == 0 ? testing::scattered(seed, 12, 8, 5) : testing::without_room(seed, 6, 15);
}

TEST(ArenaSolver, LeastReachIsThatOfBruteForce) {
  int above_bound = 0, above_fit = 0, at_bound_by_search = 0;
  for (std::uint64_t seed = 0; seed < testing::cases(2000, 300); ++seed) {
    const std::vector<Lifetime> lives = small(seed);
    ASSERT_LE(lives.size(), 12u);
    const SolvedArena solved = solve_arena(lives);
    ASSERT_EQ(testing::wrong_with(lives, solved.offsets, solved.reach, 1_B), "") << seed;
    ASSERT_TRUE(solved.optimal()) << seed;
    const std::int64_t least = least_reach(lives);
    ASSERT_EQ(solved.reach.value, least) << "seed " << seed << ", " << solved.found_by;
    const bool at_bound = solved.reach == most_alive(lives, 1_B);
    above_bound += at_bound ? 0 : 1;
    above_fit += best_fit(lives, FitOrder::BySize, 1_B).reach > solved.reach ? 1 : 0;
    at_bound_by_search += at_bound && solved.nodes > 0 ? 1 : 0;
  }
  EXPECT_GT(above_bound, 0);
  EXPECT_GT(above_fit, above_bound);
  EXPECT_GT(at_bound_by_search, 0);
}

TEST(ArenaSolver, NeverWorseThanBestFit) {
  for (std::uint64_t seed = 0; seed < testing::cases(10000, 1500); ++seed) {
    const std::vector<Lifetime> lives = testing::trace(seed);
    const Placement1D fitted = place(lives);
    const SolvedArena solved = solve_arena(lives, {.alignment = 64_B, .nodes = 300});
    ASSERT_EQ(testing::wrong_with(lives, solved.offsets, solved.reach, 64_B), "") << seed;
    ASSERT_LE(solved.reach, fitted.reach) << seed;
    ASSERT_GE(solved.lower_bound, fitted.lower_bound) << seed;
    ASSERT_GE(solved.reach, solved.lower_bound) << seed;
    ASSERT_LE(solved.nodes, 300) << seed;
    ASSERT_LE(solve_arena(lives, {.alignment = 64_B, .nodes = 0}).reach, fitted.reach) << seed;
  }
}

// Five buffers of 4 within 12, the example of MiniMalloc's own page.
TEST(ArenaSolver, WithinACapacity) {
  const std::vector<Lifetime> lives = {
      {0, 3, 4_B}, {3, 9, 4_B}, {0, 9, 4_B}, {9, 21, 4_B}, {0, 21, 4_B}};
  const SolvedArena solved = solve_arena(lives, {.capacity = 12_B});
  EXPECT_TRUE(solved.fits);
  EXPECT_EQ(solved.reach, 12_B);
  EXPECT_EQ(testing::wrong_with(lives, solved.offsets, solved.reach, 1_B), "");

  const SolvedArena too_small = solve_arena(lives, {.capacity = 11_B});
  EXPECT_FALSE(too_small.fits);
  EXPECT_EQ(too_small.reach, 12_B);
  EXPECT_GT(too_small.lower_bound, 11_B);  // so that nothing fits
}

// The bound may lie within the capacity and yet nothing fit: then the search has proven it.
TEST(ArenaSolver, ProvesThatNothingFits) {
  int proven = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::vector<Lifetime> lives = testing::without_room(seed, 6, 15);
    const Bytes alive = most_alive(lives, 1_B);
    const SolvedArena solved = solve_arena(lives, {.capacity = alive});
    ASSERT_EQ(solved.fits, BruteForce(lives, alive.value).fits()) << seed;
    ASSERT_EQ(solved.lower_bound, alive + (solved.fits ? 0_B : 1_B)) << seed;
    proven += solved.fits ? 0 : 1;
  }
  EXPECT_GT(proven, 3);
  EXPECT_LT(proven, 195);
}

TEST(ArenaSolver, Alignment) {
  const std::vector<Lifetime> lives = {{0, 2, 1_B}, {0, 2, 65_B}, {1, 3, 64_B}};
  for (const auto& [alignment, reach] :
       {std::pair{1_B, 130_B}, {16_B, 160_B}, {64_B, 256_B}, {48_B, 240_B}}) {
    const SolvedArena solved = solve_arena(lives, {.alignment = alignment});
    EXPECT_EQ(testing::wrong_with(lives, solved.offsets, solved.reach, alignment), "");
    EXPECT_EQ(solved.reach, reach);
    EXPECT_TRUE(solved.optimal());
  }
}

TEST(ArenaSolver, NothingAndWhatIsNeverThere) {
  const SolvedArena nothing = solve_arena({}, {.capacity = 0_B});
  EXPECT_TRUE(nothing.fits);
  EXPECT_TRUE(nothing.optimal());
  EXPECT_EQ(nothing.found_by, "nothing to place");
  EXPECT_EQ(nothing.gap(), 0);
  const std::vector<Lifetime> lives = {{5, 5, 10_B}, {7, 3, 10_B}, {0, 9, 0_B}, {2, 3, 8_B}};
  const SolvedArena solved = solve_arena(lives);
  EXPECT_EQ(solved.reach, 8_B);
  EXPECT_EQ(solved.offsets, (std::vector<Bytes>{0_B, 0_B, 0_B, 0_B}));
}

TEST(ArenaSolver, SameAnswerTwiceAndMoreNodesAreNeverWorse) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const std::vector<Lifetime> lives = testing::without_room(seed, 40, 60);
    Bytes before{1 << 30};
    for (const std::int64_t nodes : {0, 100, 5000}) {
      const SolvedArena once = solve_arena(lives, {.nodes = nodes});
      const SolvedArena again = solve_arena(lives, {.nodes = nodes});
      EXPECT_EQ(once.offsets, again.offsets);
      EXPECT_EQ(once.nodes, again.nodes);
      EXPECT_LE(once.reach, before) << seed;
      before = once.reach;
    }
  }
}

TEST(ArenaSolver, Stops) {
  std::stop_source source;
  source.request_stop();
  std::uint64_t stopped = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) try {
      solve_arena(testing::without_room(seed, 60, 200),
                  {.nodes = 20'000, .stop = source.get_token()});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::Cancelled);
      ++stopped;
    }
  EXPECT_GT(stopped, 0u);
}

}  // namespace
}  // namespace trainyard
