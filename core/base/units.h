// This file defines physical quantities as types: bytes cannot be added to seconds, and a rate
// cannot be passed as a count. Only operators with a physical meaning exist; units_text.h is the
// only place where quantities are read and printed.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace trainyard {

template <class Tag, class Rep>
struct Quantity {
  using Number = Rep;
  Rep value{};

  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return {a.value + b.value}; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return {a.value - b.value}; }
  friend constexpr Quantity operator-(Quantity a) { return {-a.value}; }
  friend constexpr Quantity operator*(Quantity a, Rep factor) { return {a.value * factor}; }
  friend constexpr Quantity operator*(Rep factor, Quantity a) { return {factor * a.value}; }
  constexpr Quantity& operator+=(Quantity other) { return value += other.value, *this; }
  constexpr Quantity& operator-=(Quantity other) { return value -= other.value, *this; }
};

/// Returns the plain ratio of two quantities of one type; the divisor must not be zero.
template <class Tag, class Rep>
constexpr double operator/(Quantity<Tag, Rep> a, Quantity<Tag, Rep> b) {
  return static_cast<double>(a.value) / static_cast<double>(b.value);
}

using Bytes = Quantity<struct BytesTag, std::int64_t>;
using Flops = Quantity<struct FlopsTag, double>;  // a count of operations, never a rate
using BytesPerSecond = Quantity<struct BandwidthTag, double>;
using FlopsPerSecond = Quantity<struct ThroughputTag, double>;
using Joules = Quantity<struct EnergyTag, double>;
using Watts = Quantity<struct PowerTag, double>;

using Duration = std::chrono::nanoseconds;
using Instant = Duration;  // time since the start of the run, never wall-clock time

/// Rounds up to the next nanosecond, so that no work is free. This is the only place where seconds
/// become a Duration. Values beyond 292 years saturate at Duration::max(); negative values and NaN
/// give zero.
Duration seconds(double);
inline double to_seconds(Duration d) { return static_cast<double>(d.count()) * 1e-9; }

/// Both return Duration::max(), which means that it never ends, when the rate is zero or negative.
Duration operator/(Bytes, BytesPerSecond);
Duration operator/(Flops, FlopsPerSecond);

/// Returns a part of a byte count, rounded up to whole bytes (a shard is never smaller than its
/// share). parts >= 1.
constexpr Bytes share(Bytes whole, std::int64_t parts) {
  return {(whole.value + parts - 1) / parts};
}

constexpr Bytes operator""_B(unsigned long long n) { return {static_cast<std::int64_t>(n)}; }
constexpr Bytes operator""_KiB(unsigned long long n) {
  return {static_cast<std::int64_t>(n) << 10};
}
constexpr Bytes operator""_MiB(unsigned long long n) {
  return {static_cast<std::int64_t>(n) << 20};
}
constexpr Bytes operator""_GiB(unsigned long long n) {
  return {static_cast<std::int64_t>(n) << 30};
}

}  // namespace trainyard
