#include "core/training/numbers/roundings.h"

#include <bit>

#include "core/base/vectorised.h"

namespace trainyard {
namespace {

constexpr std::uint32_t kSign = 0x80000000u, kInfinity = 0x7f800000u;
constexpr std::uint32_t kBias = 112;                       // 127 of fp32 - 15 of fp16
constexpr std::uint32_t kLeastNormal = (kBias + 1) << 23;  // 2^-14
constexpr std::uint32_t kOverflow = 0x477ff000u;           // 65520, the tie above 65504

inline std::uint16_t f16_nearest(float x) {
  const auto all = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = (all & kSign) >> 16, bits = all & ~kSign;
  // The spacing of floats at one half is 2^-24, that of fp16's subnormals, so the sum rounds to
  // them.
  const std::uint32_t small =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(bits) + 0.5f) - 0x3f000000u;
  const std::uint32_t normal = (bits - (kBias << 23) + 0xfffu + ((bits >> 13) & 1u)) >> 13;
  const std::uint32_t finite = bits < kLeastNormal ? small : normal;
  const std::uint32_t big = bits > kInfinity ? 0x7e00u | ((bits >> 13) & 0x3ffu) : 0x7c00u;
  return static_cast<std::uint16_t>(sign | (bits >= kOverflow ? big : finite));
}

inline float f16_wide(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t rest = half & 0x7fffu;
  const std::uint32_t normal = (rest << 13) + (kBias << 23);
  const float subnormal = static_cast<float>(static_cast<std::int32_t>(rest)) * 0x1p-24f;
  const std::uint32_t bits = rest >= 0x7c00u ? normal + (kBias << 23)
                             : rest < 0x400u ? std::bit_cast<std::uint32_t>(subnormal)
                                             : normal;
  return std::bit_cast<float>(sign | bits);
}

TRAINYARD_VECTORISED void bf16_nearest(const float* __restrict from, std::uint16_t* __restrict to,
                                       std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] = to_bf16(from[i]);
}

TRAINYARD_VECTORISED void bf16_stochastic(const float* __restrict from,
                                          std::uint16_t* __restrict to,
                                          const std::uint16_t* __restrict random, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] = to_bf16_stochastic(from[i], random[i]);
}

TRAINYARD_VECTORISED void bf16_wide(const std::uint16_t* __restrict from, float* __restrict to,
                                    std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] = from_bf16(from[i]);
}

TRAINYARD_VECTORISED void f16_nearest(const float* __restrict from, std::uint16_t* __restrict to,
                                      std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] = f16_nearest(from[i]);
}

TRAINYARD_VECTORISED void f16_wide(const std::uint16_t* __restrict from, float* __restrict to,
                                   std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] = f16_wide(from[i]);
}

}  // namespace

std::uint16_t to_f16(float x) { return f16_nearest(x); }
float from_f16(std::uint16_t half) { return f16_wide(half); }

void to_bf16(std::span<const float> from, std::uint16_t* to) {
  bf16_nearest(from.data(), to, from.size());
}
void to_bf16_stochastic(std::span<const float> from, std::uint16_t* to,
                        const std::uint16_t* random) {
  bf16_stochastic(from.data(), to, random, from.size());
}
void from_bf16(std::span<const std::uint16_t> from, float* to) {
  bf16_wide(from.data(), to, from.size());
}
void to_f16(std::span<const float> from, std::uint16_t* to) {
  f16_nearest(from.data(), to, from.size());
}
void from_f16(std::span<const std::uint16_t> from, float* to) {
  f16_wide(from.data(), to, from.size());
}

}  // namespace trainyard
