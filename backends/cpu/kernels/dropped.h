// Which elements dropout keeps: exactly those of the reference, whose random numbers are compared
// as whole numbers here.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/lanes.h"
#include "core/base/random.h"
#include "core/model/reference.h"

namespace trainyard {

inline constexpr auto kKeptGrow = static_cast<float>(1 / (1 - kDropout));

/// uniform(index) >= kDropout: uniform() is bits() >> 11 of 2^53.
TRAINYARD_INLINE bool keeps(const Random& random, std::uint64_t index) {
  constexpr double kShare = kDropout * 0x1p53;
  constexpr auto kBelow = static_cast<std::uint64_t>(kShare);
  constexpr std::uint64_t kFirst =
      kBelow + (static_cast<double>(kBelow) < kShare ? std::uint64_t{1} : std::uint64_t{0});
  return (random.bits(index) >> 11) >= kFirst;
}

}  // namespace trainyard
