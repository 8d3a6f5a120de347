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
  return Regrowth{chosen->params.integer("every"), chosen->params.number("drop")};
}

Random pattern_random(std::uint64_t seed, int layer, const SparseWeight& weight) {
  return Random(seed, (static_cast<std::uint64_t>(layer) << 16) + weight.pattern.value);
}

std::vector<float> first_pattern(const SparseWeight& weight, std::uint64_t seed, int layer) {
  const SparseShape& shape = weight.shape;
  return pattern_of(
      shape, drawn_of(shape.all_blocks(), shape.blocks, pattern_random(seed, layer, weight)));
}

PatternMove move_blocks(const SparseShape& shape, std::span<const std::int64_t> places,
                        std::span<const double> sizes, double share, const Random& random,
                        std::int64_t update) {
  const auto free = static_cast<std::size_t>(shape.all_blocks()) - places.size();
  const std::size_t count =
      std::min(free, static_cast<std::size_t>(share * static_cast<double>(places.size())));
  std::vector<std::size_t> by_size(places.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](std::size_t a, std::size_t b) { return sizes[a] < sizes[b]; });
  std::vector<bool> drops(places.size());
  for (std::size_t i = 0; i < count; ++i) drops[by_size[i]] = true;

  const std::vector<std::int64_t> drawn =
      drawn_of(static_cast<std::int64_t>(free), static_cast<std::int64_t>(count), random,
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

}  // namespace trainyard
