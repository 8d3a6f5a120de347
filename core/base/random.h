// Random is a counter-based generator: each value is a function of seed, stream and index, so
// values can be drawn in any order and on any thread, and there is no state to share. The mixer is
// SplitMix64 (Steele et al., OOPSLA 2014).
#pragma once

#include <cstdint>

namespace trainyard {

class Random {
 public:
  constexpr explicit Random(std::uint64_t seed, std::uint64_t stream = 0)
      : key_(mix(mix(seed) + 0x9e3779b97f4a7c15ull * (stream + 1))) {}

  constexpr std::uint64_t bits(std::uint64_t index) const {
    return mix(key_ + 0x9e3779b97f4a7c15ull * (index + 1));
  }
  /// The result is in [0, 1).
  constexpr double uniform(std::uint64_t index) const {
    return static_cast<double>(bits(index) >> 11) * 0x1p-53;
  }
  /// The result is in [low, high], both included; low <= high.
  constexpr std::int64_t between(std::uint64_t index, std::int64_t low, std::int64_t high) const {
    const auto span = static_cast<std::uint64_t>(high - low) + 1;
    return span == 0 ? static_cast<std::int64_t>(bits(index))
                     : low + static_cast<std::int64_t>(bits(index) % span);
  }

 private:
  static constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  std::uint64_t key_;
};

}  // namespace trainyard
