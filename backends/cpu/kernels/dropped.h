// Decides which elements dropout keeps: exactly those of the reference, but by comparing its random
// numbers as integers.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/lanes.h"
#include "core/base/random.h"
#include "core/model/reference.h"

namespace trainyard {

inline constexpr auto kKeptGrow = static_cast<float>(1 / (1 - kDropout));

/// Equivalent to uniform(index) >= kDropout, as uniform() is bits() >> 11 divided by 2^53.
TRAINYARD_INLINE bool keeps(const Random& random, std::uint64_t index) {
  constexpr double kShare = kDropout * 0x1p53;
  constexpr auto kBelow = static_cast<std::uint64_t>(kShare);
  constexpr std::uint64_t kFirst =
      kBelow + (static_cast<double>(kBelow) < kShare ? std::uint64_t{1} : std::uint64_t{0});
  return (random.bits(index) >> 11) >= kFirst;
}

}  // namespace trainyard
