// Counts lengths in buckets that are a fixed part of the length wide, so that a rank is found
// without sorting.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace trainyard {

/// The bucket of a length in ns: each octave has 2^bits of them, and below 2^(bits + 1) ns every
/// length has its own.
template <int bits>
std::size_t bucket_of(std::int64_t length) {
  const auto value = static_cast<std::uint64_t>(length);
  const int shift = std::max(0, static_cast<int>(std::bit_width(value)) - bits - 1);
  return (std::size_t{1} << bits) * static_cast<std::size_t>(shift) +
         static_cast<std::size_t>(value >> shift);
}
template <int bits>
inline constexpr std::size_t kExactBuckets = std::size_t{1} << (bits + 1);
/// Of lengths up to 2^62 ns.
template <int bits>
inline constexpr std::size_t kBuckets = (std::size_t{1} << bits) * (64 - bits);

/// The length in the middle of a bucket: at most 1 / 2^(bits + 1) of itself from any that the
/// bucket counts.
template <int bits>
std::int64_t middle_of(std::size_t bucket) {
  if (bucket < kExactBuckets<bits>) return static_cast<std::int64_t>(bucket);
  const std::size_t octave = (bucket >> bits) - 1;
  const std::uint64_t low = (bucket - (octave << bits)) << octave;
  return static_cast<std::int64_t>(low + ((std::uint64_t{1} << octave) - 1) / 2);
}

/// A rank counted from the smallest length of the bucket that holds it.
struct LengthRank {
  std::size_t bucket = 0;
  std::uint64_t within = 0;
};

template <int bits>
class LengthHistogram {
 public:
  void add(std::int64_t length) { add_bucket(bucket_of<bits>(length), 1); }
  void add_bucket(std::size_t bucket, std::uint32_t count) {
    if (bucket >= counts_.size()) counts_.resize(bucket + 1);
    counts_[bucket] += count;
  }
  void add(const LengthHistogram& other) {
    counts_.resize(std::max(counts_.size(), other.counts_.size()));
    for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
  }
  /// Fewer lengths than `rank` come before it; rank < the number of lengths.
  LengthRank find(std::uint64_t rank) const {
    std::size_t bucket = 0;
    while (rank >= counts_[bucket]) rank -= counts_[bucket++];
    return {bucket, rank};
  }

 private:
  std::vector<std::uint32_t> counts_;
};

}  // namespace trainyard
