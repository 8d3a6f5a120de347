// Regrowth moves sparse patterns as weights learn: the blocks of the smallest size are dropped, and
// as many are grown at places that were zero. What is grown is zero, and the optimizer knows
// nothing of it. Every replica that has the same weights and the same seed moves them alike.
//
// Within a weight, each drops and grows as many (Mocanu et al., Nature Communications 2018). Across
// weights, those blocks of all are dropped whose size is below one threshold, and weights that keep
// more of theirs grow more (Mostafa and Wang, ICML 2019): layers trade blocks, and the sum stays.
// The paper doubles or halves its threshold after each move so that about the wished share falls
// below it; here it is found exactly, so that there is no state of it to keep.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/random.h"
#include "core/model/sparse_pattern.h"
#include "core/plan/plan.h"

namespace trainyard {

enum class Regrown { Within, Across };

struct Regrowth {
  std::int64_t every = 100;  // steps between two moves, >= 1
  double drop = 0.3;         // share of the stored blocks that the first move drops, in [0, 1]
  Regrown where = Regrown::Within;

  /// Returns the share that is dropped after so many updates of `steps`: none unless it is a move's
  /// turn, and ever fewer, along half a cosine that ends at 0 with the run (Evci et al., ICML
  /// 2020).
  double dropped(std::int64_t updates, std::int64_t steps) const;
};
/// Returns how a complete plan moves its sparse weights; nothing where it has none, or they stay.
std::optional<Regrowth> regrowth_of(const Plan&);

/// Returns the source of random numbers of a layer's sparse weight: those of its first pattern, and
/// after them those of each move.
Random pattern_random(std::uint64_t seed, int layer, const SparseWeight&);
/// Returns the pattern that a sparse weight of the layer begins with.
std::vector<float> first_pattern(const SparseWeight&, std::uint64_t seed, int layer);

/// A PatternMove is a new pattern, and where each of its blocks was among those of the old one.
struct PatternMove {
  std::vector<std::int64_t> places;  // rising
  std::vector<std::int64_t> from;    // by new block: its index before, or -1 where it is grown
};
/// Counts blocks that a weight drops and grows.
struct BlockCounts {
  std::int64_t dropped = 0, grown = 0;
};
/// Drops the blocks whose values have the smallest sum of sizes, of equal ones the first, and grows
/// at places that were free, each as likely as any other. places: rising. sizes: of each stored
/// block. counts: no more are dropped than are stored, nor grown than are free. update: how many
/// updates there have been, which draws anew.
PatternMove move_blocks(const SparseShape&, std::span<const std::int64_t> places,
                        std::span<const double> sizes, BlockCounts counts, const Random&,
                        std::int64_t update);
/// Drops and grows the largest whole number of blocks that is at most `share` of all that are
/// stored, and of the places that are free.
PatternMove move_blocks(const SparseShape&, std::span<const std::int64_t> places,
                        std::span<const double> sizes, double share, const Random&,
                        std::int64_t update);

/// A weight among those that trade blocks.
struct MovingWeight {
  SparseShape shape;
  std::vector<std::int64_t> places;  // of its stored blocks, rising
  std::vector<double> sizes;         // of each of these
  Random random;
};
/// Returns how many blocks each weight drops and grows where the smallest of all are dropped, the
/// largest whole number that is at most `share` of all: equal ones in the order of weights and
/// places, and never the last block of a weight. As many are grown, shared out in proportion to
/// what each weight keeps (largest remainders first), and what it has no room or no free place for
/// falls to the others likewise. Fewer are dropped where all together have not so much room.
std::vector<BlockCounts> counts_across(std::span<const MovingWeight>, double share);
/// Returns the move of each weight.
std::vector<PatternMove> moves_of(const Regrowth&, std::span<const MovingWeight>, double share,
                                  std::int64_t update);

/// Returns the sum of sizes of each block's values; values are of whole blocks.
template <class Number>
std::vector<double> block_sizes(const SparseShape& shape, std::span<const Number> values) {
  std::vector<double> sizes(values.size() / static_cast<std::size_t>(shape.block));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<double>(values[i]);
    sizes[i / static_cast<std::size_t>(shape.block)] += value < 0 ? -value : value;
  }
  return sizes;
}

/// Takes numbers that lie as the values do (weights, a slot of the optimizer's state, or the bits
/// of either) to where the move has them; those of what is grown, and of room that is empty, are
/// zero.
template <class Number>
void follow(const PatternMove& move, const SparseShape& shape, std::span<Number> numbers) {
  const std::vector<Number> before(numbers.begin(), numbers.end());
  const auto width = static_cast<std::size_t>(shape.block);
  for (std::size_t block = 0; block < move.from.size(); ++block)
    for (std::size_t i = 0; i < width; ++i)
      numbers[block * width + i] =
          move.from[block] < 0 ? Number{}
                               : before[static_cast<std::size_t>(move.from[block]) * width + i];
  const std::span<Number> empty = numbers.subspan(move.from.size() * width);
  std::fill(empty.begin(), empty.end(), Number{});
}

}  // namespace trainyard
