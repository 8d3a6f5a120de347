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

// Two weights of ten places and six blocks each. The four smallest blocks of all are three of the
// first weight and one of the second; what is grown goes to them as 3 to 5 kept ones.
TEST(Regrowth, WeightsThatKeepMoreGrowMore) {
  const SparseShape shape{1, 10, 1, 9, 1, 3};
  const std::vector<std::int64_t> places = {0, 2, 4, 5, 7, 9};
  const std::vector<MovingWeight> weights = {{shape, places, {1, 9, 2, 3, 9, 9}, Random(1)},
                                             {shape, places, {8, 8, 8, 4, 8, 8}, Random(2)}};
  const std::vector<BlockCounts> counts = counts_across(weights, 0.34);
  EXPECT_EQ(counts[0].dropped, 3);
  EXPECT_EQ(counts[1].dropped, 1);
  EXPECT_EQ(counts[0].grown, 2);  // of 1.5, whose remainder is as large as that of 2.5 and first
  EXPECT_EQ(counts[1].grown, 2);
  const auto within = moves_of({10, 0.4, Regrown::Within}, weights, 0.34, 10),
             across = moves_of({10, 0.4, Regrown::Across}, weights, 0.34, 10);
  EXPECT_EQ(within[0].places.size(), 6u);
  EXPECT_EQ(across[0].places.size(), 5u);
  EXPECT_EQ(across[1].places.size(), 7u);
}

// Weights of any sizes trade blocks: their number stays, each keeps at least one and no more than
// there is room for, and no block is dropped that is larger than one that is kept, but for those
// that a weight keeps as its last.
RC_GTEST_PROP(Regrowth, ATradeKeepsTheNumberOfAllBlocks, ()) {
  std::vector<MovingWeight> weights;
  for (int w = *rc::gen::inRange(1, 5); w > 0; --w) {
    SparseShape shape{*rc::gen::inRange<std::int64_t>(1, 6), 0, 1, 0};
    shape.columns = *rc::gen::inRange<std::int64_t>(1, 8);
    shape.blocks = *rc::gen::inRange<std::int64_t>(1, shape.all_blocks() + 1);
    const std::int64_t stored = *rc::gen::inRange<std::int64_t>(1, shape.blocks + 1);
    shape.spare = shape.blocks - stored;
    const Random random(*rc::gen::arbitrary<std::uint64_t>());
    std::vector<double> sizes;
    for (std::int64_t i = 0; i < stored; ++i)
      sizes.push_back(static_cast<double>(random.between(static_cast<std::uint64_t>(i), 0, 9)));
    weights.push_back({shape, drawn_of(shape.all_blocks(), stored, random), sizes, random});
  }
  const double share = *rc::gen::inRange(0, 101) / 100.0;
  const std::vector<BlockCounts> counts = counts_across(weights, share);
  const std::vector<PatternMove> moves = moves_of({1, 1, Regrown::Across}, weights, share, 3);
  std::int64_t dropped = 0, grown = 0, all = 0;
  double largest_dropped = 0, smallest_kept = 1e9;
  for (std::size_t w = 0; w < weights.size(); ++w) {
    const MovingWeight& weight = weights[w];
    const auto stored = static_cast<std::int64_t>(weight.places.size()),
               after = static_cast<std::int64_t>(moves[w].places.size());
    RC_ASSERT(after == stored - counts[w].dropped + counts[w].grown);
    RC_ASSERT(after >= 1);
    RC_ASSERT(after <= weight.shape.blocks);
    dropped += counts[w].dropped, grown += counts[w].grown, all += stored;
    std::vector<bool> kept(weight.places.size());
    for (const std::int64_t from : moves[w].from)
      if (from >= 0) kept[static_cast<std::size_t>(from)] = true;
    const bool last = stored - counts[w].dropped == 1;
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (!kept[i])
        largest_dropped = std::max(largest_dropped, weight.sizes[i]);
      else if (!last)
        smallest_kept = std::min(smallest_kept, weight.sizes[i]);
  }
  RC_ASSERT(dropped == grown);
  RC_ASSERT(dropped <= static_cast<std::int64_t>(share * static_cast<double>(all)));
  RC_ASSERT(largest_dropped <= smallest_kept);
}

}  // namespace
}  // namespace trainyard
