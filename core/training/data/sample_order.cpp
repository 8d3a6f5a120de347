#include "core/training/data/sample_order.h"

#include <bit>

#include "core/base/random.h"

namespace trainyard {
namespace {

constexpr int kRounds = 6;

std::uint64_t permuted(const Random& random, std::uint64_t index, int half) {
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  std::uint64_t left = index >> half, right = index & mask;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t mixed =
        left ^ (random.bits((static_cast<std::uint64_t>(round) << 32) | right) & mask);
    left = right, right = mixed;
  }
  return left << half | right;
}

}  // namespace

std::int64_t sample_at(std::uint64_t seed, std::int64_t position, std::int64_t samples) {
  const auto count = static_cast<std::uint64_t>(samples), at = static_cast<std::uint64_t>(position);
  const Random random(seed, at / count);
  const int half = (std::bit_width(count - 1) + 1) / 2;
  std::uint64_t index = at % count;
  do index = permuted(random, index, half);
  while (index >= count);
  return static_cast<std::int64_t>(index);
}

}  // namespace trainyard
