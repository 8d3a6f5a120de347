#include "core/training/regrowth.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace trainyard {

double Regrowth::dropped(std::int64_t updates, std::int64_t steps) const {
  if (updates <= 0 || updates >= steps || updates % every != 0) return 0;
  const double done = static_cast<double>(updates) / static_cast<double>(steps);
  return drop / 2 * (1 + std::cos(std::numbers::pi * done));
}

std::optional<Regrowth> regrowth_of(const Plan& plan) {
  const Choice* const chosen = find_choice(plan, "sparse");
  if (chosen == nullptr || chosen->params.integer("every") == 0) return std::nullopt;
  return Regrowth{chosen->params.integer("every"), chosen->params.number("drop"),
                  chosen->params.text("regrowth") == "across" ? Regrown::Across : Regrown::Within};
}

Random pattern_random(std::uint64_t seed, int layer, const SparseWeight& weight) {
  return Random(seed, (static_cast<std::uint64_t>(layer) << 16) + weight.pattern.value);
}

std::vector<float> first_pattern(const SparseWeight& weight, std::uint64_t seed, int layer) {
  const SparseShape& shape = weight.shape;
  return pattern_of(shape, drawn_of(shape.all_blocks(), shape.stored_blocks(),
                                    pattern_random(seed, layer, weight)));
}

PatternMove move_blocks(const SparseShape& shape, std::span<const std::int64_t> places,
                        std::span<const double> sizes, double share, const Random& random,
                        std::int64_t update) {
  const auto stored = static_cast<std::int64_t>(places.size());
  const std::int64_t count = std::min(
      shape.all_blocks() - stored, static_cast<std::int64_t>(share * static_cast<double>(stored)));
  return move_blocks(shape, places, sizes, BlockCounts{count, count}, random, update);
}

PatternMove move_blocks(const SparseShape& shape, std::span<const std::int64_t> places,
                        std::span<const double> sizes, BlockCounts counts, const Random& random,
                        std::int64_t update) {
  const std::int64_t free = shape.all_blocks() - static_cast<std::int64_t>(places.size());
  std::vector<std::size_t> by_size(places.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](std::size_t a, std::size_t b) { return sizes[a] < sizes[b]; });
  std::vector<bool> drops(places.size());
  for (std::size_t i = 0; i < static_cast<std::size_t>(counts.dropped); ++i)
    drops[by_size[i]] = true;

  const std::vector<std::int64_t> drawn =
      drawn_of(free, counts.grown, random,
               static_cast<std::uint64_t>(update) * static_cast<std::uint64_t>(shape.all_blocks()));
  // The free places lie between the stored ones: as many are before a stored place as its place
  // less its index. A drawn number so many of them up is behind all stored ones that leave room.
  PatternMove move;
  std::size_t old = 0, next = 0;
  const auto grown_place = [&](std::size_t which) {
    return drawn[which] + static_cast<std::int64_t>(old);
  };
  while (old < places.size() || next < drawn.size()) {
    const bool stored_first =
        old < places.size() && (next == drawn.size() || places[old] <= grown_place(next));
    if (!stored_first) {
      move.places.push_back(grown_place(next++));
      move.from.push_back(-1);
      continue;
    }
    if (!drops[old]) {
      move.places.push_back(places[old]);
      move.from.push_back(static_cast<std::int64_t>(old));
    }
    ++old;
  }
  return move;
}

namespace {

// Weights that trade blocks, with the number that each keeps of its own.
struct Trade {
  std::span<const MovingWeight> weights;
  std::vector<std::int64_t> kept;

  std::int64_t most_grown(std::size_t w) const {
    const SparseShape& shape = weights[w].shape;
    const auto stored = static_cast<std::int64_t>(weights[w].places.size());
    return std::min(shape.blocks - kept[w], shape.all_blocks() - stored);
  }
};

// Drops at most so many blocks, the smallest first, and returns the largest number of them in whose
// stead as many may be grown.
std::int64_t drop(Trade& trade, std::span<const std::pair<double, std::size_t>> rising,
                  std::int64_t count) {
  std::int64_t room = 0, dropped = 0, most = 0;
  for (std::size_t w = 0; w < trade.weights.size(); ++w) {
    trade.kept[w] = static_cast<std::int64_t>(trade.weights[w].places.size());
    room += trade.most_grown(w);
  }
  for (std::size_t i = 0; i < rising.size() && dropped < count; ++i) {
    const std::size_t w = rising[i].second;
    if (trade.kept[w] <= 1) continue;
    room -= trade.most_grown(w);
    --trade.kept[w], ++dropped;
    room += trade.most_grown(w);
    if (room >= dropped) most = dropped;
  }
  return most;
}

// Shares out blocks in proportion to what each weight keeps, and in further rounds what had no
// room.
void grow(const Trade& trade, std::int64_t count, std::vector<BlockCounts>& counts) {
  while (count > 0) {
    double kept = 0;
    std::vector<std::size_t> with_room;
    for (std::size_t w = 0; w < counts.size(); ++w)
      if (counts[w].grown < trade.most_grown(w)) {
        with_room.push_back(w);
        kept += static_cast<double>(trade.kept[w]);
      }
    std::vector<std::pair<double, std::size_t>> remainders;
    std::int64_t left = count;
    for (const std::size_t w : with_room) {
      const double quota = static_cast<double>(count) * static_cast<double>(trade.kept[w]) / kept;
      const auto whole = static_cast<std::int64_t>(quota);
      const std::int64_t given = std::min(whole, trade.most_grown(w) - counts[w].grown);
      counts[w].grown += given, count -= given, left -= whole;
      remainders.emplace_back(static_cast<double>(whole) - quota, w);
    }
    std::stable_sort(remainders.begin(), remainders.end());
    for (const auto& [remainder, w] : remainders)
      if (left > 0 && counts[w].grown < trade.most_grown(w)) ++counts[w].grown, --count, --left;
  }
}

}  // namespace

std::vector<BlockCounts> counts_across(std::span<const MovingWeight> weights, double share) {
  std::vector<std::pair<double, std::size_t>> rising;  // sizes of all blocks, and whose they are
  for (std::size_t w = 0; w < weights.size(); ++w)
    for (const double size : weights[w].sizes) rising.emplace_back(size, w);
  std::stable_sort(rising.begin(), rising.end());
  Trade trade{weights, std::vector<std::int64_t>(weights.size())};
  auto count = static_cast<std::int64_t>(share * static_cast<double>(rising.size()));
  count = std::min(count, static_cast<std::int64_t>(rising.size() - weights.size()));
  // Where the smallest blocks leave too little room, those that it suffices for are dropped anew.
  if (const std::int64_t most = drop(trade, rising, count); most < count)
    count = drop(trade, rising, most);
  std::vector<BlockCounts> counts(weights.size());
  for (std::size_t w = 0; w < weights.size(); ++w)
    counts[w].dropped = static_cast<std::int64_t>(weights[w].places.size()) - trade.kept[w];
  grow(trade, count, counts);
  return counts;
}

std::vector<PatternMove> moves_of(const Regrowth& regrowth, std::span<const MovingWeight> weights,
                                  double share, std::int64_t update) {
  std::vector<PatternMove> moves;
  if (regrowth.where == Regrown::Within) {
    for (const MovingWeight& w : weights)
      moves.push_back(move_blocks(w.shape, w.places, w.sizes, share, w.random, update));
    return moves;
  }
  const std::vector<BlockCounts> counts = counts_across(weights, share);
  for (std::size_t i = 0; i < weights.size(); ++i)
    moves.push_back(move_blocks(weights[i].shape, weights[i].places, weights[i].sizes, counts[i],
                                weights[i].random, update));
  return moves;
}

}  // namespace trainyard
