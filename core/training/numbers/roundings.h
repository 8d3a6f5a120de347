// This file converts 4-byte numbers to 2-byte ones and back (IEEE 754; Zamirai et al., "Revisiting
// BFloat16 Training", 2020).
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace trainyard {

/// Rounds to the nearest, ties to even; not-a-number stays not-a-number.
inline std::uint16_t to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x40u;
  return static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

inline float from_bf16(std::uint16_t half) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
}

/// Rounds away from zero with a probability equal to the distance from the value next to zero:
/// `random` is uniform over all its values. The result is unbiased wherever a larger number exists.
inline std::uint16_t to_bf16_stochastic(float x, std::uint16_t random) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t size = bits & 0x7fffffffu;
  const std::uint32_t special = (bits >> 16) | (size > 0x7f800000u ? 0x40u : 0u);
  return static_cast<std::uint16_t>(size >= 0x7f800000u ? special : (bits + random) >> 16);
}

std::uint16_t to_f16(float);  // rounds to nearest even; overflow becomes infinity, subnormals are
                              // kept
float from_f16(std::uint16_t);

/// These convert whole arrays of equal length.
void to_bf16(std::span<const float>, std::uint16_t*);
void to_bf16_stochastic(std::span<const float>, std::uint16_t*, const std::uint16_t* random);
void from_bf16(std::span<const std::uint16_t>, float*);
void to_f16(std::span<const float>, std::uint16_t*);
void from_f16(std::span<const std::uint16_t>, float*);

}  // namespace trainyard
