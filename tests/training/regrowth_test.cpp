// Tests moves of sparse patterns.
#include "core/training/regrowth.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

namespace trainyard {
namespace {

TEST(Regrowth, DropsEverFewerAtItsTurns) {
  const Regrowth regrowth{10, 0.4};
  for (const std::int64_t none : {0, 1, 9, 11, 100, 110})
    EXPECT_EQ(regrowth.dropped(none, 100), 0) << none;
  EXPECT_NEAR(regrowth.dropped(50, 100), 0.2, 1e-12);
  double before = 0.4;
  for (std::int64_t step = 10; step < 100; step += 10) {
    EXPECT_LT(regrowth.dropped(step, 100), before);
    EXPECT_GT(before = regrowth.dropped(step, 100), 0);
  }
}

TEST(Regrowth, TheSmallestBlocksGiveWayToOthers) {
  const SparseShape shape{2, 8, 2, 4};  // two rows of four blocks
  const std::vector<std::int64_t> places = {0, 2, 5, 7};
  std::vector<float> values = {1, -1, 4, 0, -0.5F, 0.25F, 3, 3};
  const std::vector<double> sizes = block_sizes<float>(shape, values);
  EXPECT_EQ(sizes, (std::vector<double>{2, 4, 0.75, 6}));
  const PatternMove move = move_blocks(shape, places, sizes, 0.5, Random(3), 10);
  ASSERT_EQ(move.places.size(), 4u);
  const auto new_index = [&](std::int64_t old) {
    return std::find(move.from.begin(), move.from.end(), old) - move.from.begin();
  };
  EXPECT_EQ(new_index(0), 4) << "dropped";
  EXPECT_EQ(new_index(2), 4) << "dropped";
  follow(move, shape, std::span(values));
  EXPECT_EQ(move.places[static_cast<std::size_t>(new_index(1))], 2);
  EXPECT_EQ(values[static_cast<std::size_t>(2 * new_index(1))], 4);
  EXPECT_EQ(std::count(values.begin(), values.end(), 0.0F), 5);  // two grown blocks
}

RC_GTEST_PROP(Regrowth, KeepsTheNumberAndGrowsWhereZerosWere, ()) {
  SparseShape shape{*rc::gen::inRange<std::int64_t>(1, 12), 0,
                    *rc::gen::element<std::int64_t>(1, 4), 0};
  shape.columns = shape.block * *rc::gen::inRange<std::int64_t>(1, 12);
  shape.blocks = *rc::gen::inRange<std::int64_t>(1, shape.all_blocks() + 1);
  const Random random(*rc::gen::arbitrary<std::uint64_t>());
  const std::vector<std::int64_t> places = drawn_of(shape.all_blocks(), shape.blocks, random);
  const auto sizes = *rc::gen::container<std::vector<double>>(
      places.size(), rc::gen::map(rc::gen::inRange(0, 5), [](int i) { return double(i); }));
  const double share = *rc::gen::inRange(0, 101) / 100.0;
  const std::int64_t update = *rc::gen::inRange<std::int64_t>(1, 1000);
  const PatternMove move = move_blocks(shape, places, sizes, share, random, update);
  RC_ASSERT(move.places.size() == places.size());
  RC_ASSERT(std::adjacent_find(move.places.begin(), move.places.end(), std::greater_equal<>()) ==
            move.places.end());
  RC_ASSERT(move.places.front() >= 0 && move.places.back() < shape.all_blocks());
  double largest_dropped = 0, smallest_kept = 1e9;
  std::vector<bool> kept(places.size());
  std::int64_t grown = 0;
  for (std::size_t i = 0; i < move.places.size(); ++i) {
    const bool was = std::binary_search(places.begin(), places.end(), move.places[i]);
    RC_ASSERT(was == (move.from[i] >= 0));
    if (!was) {
      ++grown;
      continue;
    }
    RC_ASSERT(places[static_cast<std::size_t>(move.from[i])] == move.places[i]);
    kept[static_cast<std::size_t>(move.from[i])] = true;
  }
  for (std::size_t i = 0; i < places.size(); ++i)
    (kept[i] ? smallest_kept = std::min(smallest_kept, sizes[i])
             : largest_dropped = std::max(largest_dropped, sizes[i]));
  RC_ASSERT(largest_dropped <= smallest_kept);
  RC_ASSERT(grown ==
            std::min(shape.all_blocks() - shape.blocks,
                     static_cast<std::int64_t>(share * static_cast<double>(shape.blocks))));
  const PatternMove again = move_blocks(shape, places, sizes, share, random, update);
  RC_ASSERT(again.places == move.places && again.from == move.from);
}

TEST(Regrowth, EveryFreePlaceIsGrownAlikeOften) {
  const SparseShape shape{4, 5, 1, 8};
  const std::vector<std::int64_t> places = {0, 1, 4, 9, 10, 11, 12, 19};
  const std::vector<double> sizes(8, 1);
  std::vector<int> counts(20);
  constexpr int kMoves = 4000;
  for (std::int64_t update = 1; update <= kMoves; ++update) {
    const PatternMove move = move_blocks(shape, places, sizes, 0.25, Random(7), update);
    for (std::size_t i = 0; i < move.places.size(); ++i)
      if (move.from[i] < 0) ++counts[static_cast<std::size_t>(move.places[i])];
  }
  // Two of twelve free places, with deviations of 23.6.
  for (std::int64_t place = 0; place < 20; ++place) {
    const bool stored = std::binary_search(places.begin(), places.end(), place);
    EXPECT_NEAR(counts[static_cast<std::size_t>(place)], stored ? 0 : kMoves / 6,
                stored ? 0 : 5 * 24)
        << place;
  }
}

}  // namespace
}  // namespace trainyard
