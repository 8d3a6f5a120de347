// Lanes are sixteen floats processed at once, with the activation functions and exponentials on
// them. Sums use fixed lanes in a fixed order, so that a kernel gives the same bits however the
// compiler vectorises it.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

// A function called by a loop that is compiled for several instruction sets must be inlined to be
// compiled for each of them.
#define TRAINYARD_INLINED __attribute__((always_inline))
#define TRAINYARD_INLINE inline TRAINYARD_INLINED

namespace trainyard {

inline constexpr std::int64_t kLanes = 16;
/// n rounded up to whole lanes.
constexpr std::int64_t padded(std::int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));
using IntLanes = std::int32_t __attribute__((vector_size(kLanes * sizeof(float))));

TRAINYARD_INLINE Lanes all(float x) { return x - Lanes{}; }
TRAINYARD_INLINE Lanes load(const float* p) {
  Lanes x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
TRAINYARD_INLINE void store(float* p, Lanes x) { std::memcpy(p, &x, sizeof x); }
/// Only the first `count` < kLanes elements; the others load as 0 and are not stored.
TRAINYARD_INLINE Lanes load(const float* p, std::int64_t count) {
  float x[kLanes] = {};
  std::memcpy(x, p, static_cast<std::size_t>(count) * sizeof(float));
  return load(x);
}
TRAINYARD_INLINE void store(float* p, Lanes x, std::int64_t count) {
  float values[kLanes];
  store(values, x);
  std::memcpy(p, values, static_cast<std::size_t>(count) * sizeof(float));
}

/// a where the sign bit of x is set, else b. Where a register is narrower than Lanes, GCC compares
/// element by element, but takes sign bits and masks by whole registers: that is four times as
/// fast.
TRAINYARD_INLINE Lanes where_negative(Lanes x, Lanes a, Lanes b) {
  const IntLanes mask = std::bit_cast<IntLanes>(x) >> 31;
  return std::bit_cast<Lanes>((std::bit_cast<IntLanes>(a) & mask) |
                              (std::bit_cast<IntLanes>(b) & ~mask));
}
TRAINYARD_INLINE Lanes larger(Lanes a, Lanes b) { return where_negative(b - a, a, b); }
/// The limit where `beyond` = -`within` is negative, else x. Both are differences from x, and that
/// of a NaN has the same sign whichever way it is taken: NaN stays NaN.
TRAINYARD_INLINE Lanes limited(Lanes x, Lanes limit, Lanes beyond, Lanes within) {
  return where_negative(
      std::bit_cast<Lanes>(std::bit_cast<IntLanes>(beyond) & ~std::bit_cast<IntLanes>(within)),
      limit, x);
}
TRAINYARD_INLINE Lanes at_least(Lanes x, Lanes limit) {
  return limited(x, limit, x - limit, limit - x);
}
TRAINYARD_INLINE Lanes at_most(Lanes x, Lanes limit) {
  return limited(x, limit, limit - x, x - limit);
}
TRAINYARD_INLINE float sum(Lanes x) {
  float v[kLanes];
  store(v, x);
  for (std::int64_t half = kLanes / 2; half > 0; half /= 2)
    for (std::int64_t i = 0; i < half; ++i) v[i] += v[i + half];
  return v[0];
}
TRAINYARD_INLINE float largest(Lanes x) {
  float v[kLanes];
  store(v, x);
  for (std::int64_t half = kLanes / 2; half > 0; half /= 2)
    for (std::int64_t i = 0; i < half; ++i) v[i] = v[i] > v[i + half] ? v[i] : v[i + half];
  return v[0];
}

/// e^x for x <= 88, with a relative error below 3e-7 down to -87; smaller x give the value at -87
/// (never 0). NaN stays NaN. x = n ln 2 + r with |r| <= ln 2 / 2, and e^r is its Taylor series up
/// to r^6, which leaves 1.2e-7.
TRAINYARD_INLINE Lanes falling_exponential(Lanes x) {
  constexpr float kRound = 12582912;  // 1.5 * 2^23: adding it rounds to an integer
  x = at_least(x, all(-87));
  const Lanes shifted = x * 1.44269504f + kRound;
  const Lanes n = shifted - kRound;
  const Lanes r = (x - n * 0.693359375f) + n * 2.12194440e-4f;  // ln 2 in two parts
  Lanes y = r * (1.0f / 720) + 1.0f / 120;
  y = y * r + 1.0f / 24;
  y = y * r + 1.0f / 6;
  y = y * r + 0.5f;
  y = y * r + 1.0f;
  y = y * r + 1.0f;
  const IntLanes power = (std::bit_cast<IntLanes>(shifted) << 23) + (127 << 23);
  return y * std::bit_cast<Lanes>(power);
}

/// The same for any x; larger x give the value at 88 (never infinite).
TRAINYARD_INLINE Lanes exponential(Lanes x) { return falling_exponential(at_most(x, all(88))); }

TRAINYARD_INLINE Lanes hyperbolic_tangent(Lanes x) {
  const Lanes square = x * x;
  const Lanes near =
      x * (1 + square * (-1.0f / 3 +
                         square * (2.0f / 15 + square * (-17.0f / 315 + square * (62.0f / 2835)))));
  const Lanes far = 1 - 2 / (exponential(2 * x) + 1);
  return where_negative(square - 0.0625f, near, far);
}

TRAINYARD_INLINE Lanes logistic(Lanes x) { return 1 / (1 + exponential(-x)); }

/// A function's value and derivative.
struct CurveLanes {
  Lanes value, slope;
};
TRAINYARD_INLINE CurveLanes silu_lanes(Lanes x) {
  const Lanes s = logistic(x);
  return {x * s, s * (1 + x * (1 - s))};
}
/// x times the normal distribution function of x. The error function is formula 7.1.26 of
/// Abramowitz and Stegun, whose error is below 1.5e-7; both it and the derivative need e^(-x^2 /
/// 2).
TRAINYARD_INLINE CurveLanes gelu_lanes(Lanes x) {
  const Lanes size = std::bit_cast<Lanes>(std::bit_cast<IntLanes>(x) & 0x7fffffff);
  const Lanes t = 1 / (1 + size * (0.3275911f * 0.70710678f));
  const Lanes bell = falling_exponential(x * x * -0.5f);
  const Lanes series =
      t * (0.254829592f +
           t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
  const Lanes beyond = 0.5f * series * bell;
  const Lanes share = where_negative(x, beyond, 1 - beyond);
  return {x * share, share + x * bell * 0.39894228f};
}

/// Computes y = f(elements of `in`) elementwise, or adds it to y.
template <class F, class... In>
TRAINYARD_INLINE void each_lane(std::int64_t n, float* y, bool adds, F f, const In*... in) {
  std::int64_t i = 0;
  if (adds) {
    for (; i + kLanes <= n; i += kLanes) store(y + i, load(y + i) + f(load(in + i)...));
    if (i < n) store(y + i, load(y + i, n - i) + f(load(in + i, n - i)...), n - i);
  } else {
    for (; i + kLanes <= n; i += kLanes) store(y + i, f(load(in + i)...));
    if (i < n) store(y + i, f(load(in + i, n - i)...), n - i);
  }
}

/// The sum of f(elements of `in`) over all elements.
template <class F, class... In>
TRAINYARD_INLINE float sum_over(std::int64_t n, F f, const In*... in) {
  Lanes even{}, odd{};
  std::int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    even += f(load(in + i)...);
    odd += f(load(in + i + kLanes)...);
  }
  for (; i + kLanes <= n; i += kLanes) even += f(load(in + i)...);
  float rest = 0;
  if (i < n) {
    float last[kLanes];
    store(last, f(load(in + i, n - i)...));
    for (std::int64_t l = 0; l < n - i; ++l) rest += last[l];
  }
  return sum(even + odd) + rest;
}

}  // namespace trainyard
