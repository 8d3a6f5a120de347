#include "core/training/adasum.h"

#include <fmt/format.h>

#include <cfloat>
#include <cmath>

namespace trainyard {

AdasumDots adasum_dots(std::span<const float> a, std::span<const float> b) {
  // Sums of several lanes do not wait for each other.
  constexpr std::size_t kLanes = 8;
  AdasumDots lanes[kLanes], sum;
  std::size_t i = 0;
  const auto add = [&](AdasumDots& to, std::size_t at) {
    const double x = a[at], y = b[at];
    to += {x * y, x * x, y * y};
  };
  for (; i + kLanes <= a.size(); i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(lanes[lane], i + lane);
  for (; i < a.size(); ++i) add(sum, i);
  for (const AdasumDots& lane : lanes) sum += lane;
  return sum;
}

AdasumWeights adasum_weights(const AdasumDots& of) {
  static const double least = std::sqrt(DBL_MIN);
  const auto weight = [&](double square) { return square < least ? 1 : 1 - of.dot / (2 * square); };
  return {weight(of.a), weight(of.b)};
}

void add_weighted(const AdasumWeights& weights, std::span<const float> a, std::span<const float> b,
                  std::span<float> into) {
  for (std::size_t i = 0; i < a.size(); ++i)
    into[i] = static_cast<float>(weights.a * double{a[i]} + weights.b * double{b[i]});
}

double adasum_tree(std::span<const std::span<float>> ranks, std::span<const std::int64_t> tensors,
                   std::int64_t mean_ranks) {
  double squares = 0;
  for (std::size_t level = 1; level < ranks.size(); level *= 2)
    for (std::size_t r = 0; r < ranks.size(); r += 2 * level) {
      std::size_t first = 0;
      for (const std::int64_t elements : tensors) {
        const auto count = static_cast<std::size_t>(elements);
        const std::span<float> a = ranks[r].subspan(first, count),
                               b = ranks[r + level].subspan(first, count);
        first += count;
        AdasumWeights weights{0.5, 0.5};
        if (static_cast<std::int64_t>(level) >= mean_ranks) {
          const AdasumDots dots = adasum_dots(a, b);
          weights = adasum_weights(dots);
          if (static_cast<std::int64_t>(level) == mean_ranks) squares += dots.a + dots.b;
        }
        add_weighted(weights, a, b, a);
      }
    }
  return squares;
}

BatchHeadroom batch_headroom(double orthogonality, std::int64_t ranks) {
  if (ranks <= 1) return {};
  const auto count = static_cast<double>(ranks);
  return {orthogonality * count, 2 * std::pow(orthogonality, 1 / std::log2(count))};
}

std::string headroom_sentence(double orthogonality, std::int64_t ranks) {
  const BatchHeadroom found = batch_headroom(orthogonality, ranks);
  return fmt::format(
      "{} updates count as {:.3g} independent ones, {:.3g} times as many with each doubling: {}",
      ranks, found.independent, found.per_doubling,
      found.per_doubling >= 1.5   ? "twice the ranks would still teach more in a step"
      : found.per_doubling >= 1.1 ? "twice the ranks would teach a little more in a step"
                                  : "more ranks would only average noise");
}

}  // namespace trainyard
