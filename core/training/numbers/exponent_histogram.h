// An ExponentHistogram counts numbers by their binary exponent. Micikevicius et al., "Mixed
// Precision Training", ICLR 2018, draw such histograms with the range of half precision over them,
// to show which gradients it loses and how far a loss scale may move them.
//
//   exponent of x   e where 2^e <= |x| < 2^(e+1), subnormal numbers of single precision too
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace trainyard {

/// Counts add up over shards, microbatches and ranks.
struct ExponentHistogram {
  static constexpr int kLeast = -149, kMost = 127;  // exponents of single precision

  std::array<std::int64_t, kMost - kLeast + 1> counts{};  // by exponent - kLeast
  std::int64_t zeros = 0, infinities = 0, nans = 0;

  std::int64_t count(int exponent) const {
    return counts[static_cast<std::size_t>(exponent - kLeast)];
  }
  std::int64_t elements() const;
  /// The least and the largest exponent that any number has; nothing where all are zero or not
  /// finite.
  std::optional<int> least() const;
  std::optional<int> most() const;
  ExponentHistogram& operator+=(const ExponentHistogram&);
  friend bool operator==(const ExponentHistogram&, const ExponentHistogram&) = default;
};

/// Counts the numbers, each times the scale. A scale other than 1 is multiplied in single
/// precision, as an update does it.
ExponentHistogram histogram_of(std::span<const float>, double scale = 1);

/// Updates that were asked for, and those of them that rounding took back.
struct CancelledCount {
  std::int64_t asked = 0, cancelled = 0;
  double share() const {  // 0 of none
    return asked > 0 ? static_cast<double>(cancelled) / static_cast<double>(asked) : 0;
  }
  CancelledCount& operator+=(const CancelledCount& other) {
    asked += other.asked, cancelled += other.cancelled;
    return *this;
  }
  friend bool operator==(const CancelledCount&, const CancelledCount&) = default;
};

/// Counts, of three spans of equal length, the weights whose gradient is not zero, and those of
/// them that the update left as they were. A weight of zero is left out: beside it no update is too
/// small.
CancelledCount count_cancelled(std::span<const float> before, std::span<const float> after,
                               std::span<const float> gradients);

}  // namespace trainyard
