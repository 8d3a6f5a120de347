#include "core/training/numbers/bit_errors.h"

#include <algorithm>
#include <cmath>

namespace trainyard {
namespace {

// Returns the bits of a word that fail. Two of them share a draw, 32 bits each.
std::uint8_t failing(const Random& random, double rate, std::uint64_t index, int bits) {
  constexpr std::uint64_t kDraws = 4;  // of a word of at most 8 bits
  const auto below = static_cast<std::uint64_t>(std::llround(rate * 0x1p32));
  unsigned flipped = 0;
  for (int bit = 0; bit < bits; bit += 2) {
    const std::uint64_t drawn = random.bits(index * kDraws + static_cast<std::uint64_t>(bit / 2));
    if ((drawn >> 32) < below) flipped |= 1u << bit;
    if ((drawn & 0xffffffffu) < below && bit + 1 < bits) flipped |= 2u << bit;
  }
  return static_cast<std::uint8_t>(flipped);
}

double largest_code(int bits) { return (1 << (bits - 1)) - 1; }

}  // namespace

std::uint8_t RobustQuantiser::code(float weight) const {
  const double most = largest_code(bits);
  const double share = 2 * (static_cast<double>(weight) - low) / (high - low) - 1;
  return static_cast<std::uint8_t>(std::lround(std::clamp(share, -1.0, 1.0) * most) +
                                   std::lround(most));
}

float RobustQuantiser::number(std::uint8_t code) const {
  const double most = largest_code(bits);
  const double share = (code - most) / most;
  return static_cast<float>(low + (share + 1) * (high - low) / 2);
}

RobustQuantiser robust_quantiser(int bits, std::span<const float> weights) {
  if (weights.empty()) return {0, kLeastRange, bits};
  const auto [low, high] = std::minmax_element(weights.begin(), weights.end());
  return {*low, std::max<double>(*high, *low + kLeastRange), bits};
}

void flip_bits(const FailingBits& failing_bits, int bits, std::span<std::uint8_t> codes) {
  if (failing_bits.rate <= 0) return;
  const Random random(failing_bits.chip, failing_bits.tensor);
  for (std::size_t i = 0; i < codes.size(); ++i)
    codes[i] ^= failing(random, failing_bits.rate, i, bits);
}

void store_with_errors(int bits, const FailingBits& failing_bits, std::span<float> weights) {
  const RobustQuantiser quantiser = robust_quantiser(bits, weights);
  std::vector<std::uint8_t> codes(weights.size());
  std::transform(weights.begin(), weights.end(), codes.begin(),
                 [&](float weight) { return quantiser.code(weight); });
  flip_bits(failing_bits, bits, codes);
  std::transform(codes.begin(), codes.end(), weights.begin(),
                 [&](std::uint8_t code) { return quantiser.number(code); });
}

}  // namespace trainyard
