// Sees a tensor as checks for flipped bits do: the sum of its bits, and the largest of its numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "backends/cpu/kernels/convert.h"
#include "core/model/dtype.h"
#include "core/training/numbers/bit_flips.h"

namespace trainyard {

/// The sum and the range of a tensor, or of a part of it, which a check compares.
struct FlipSight {
  TensorSum sum;
  double largest = 0;  // size of a finite number
  bool finite = true;
  FlipSight& operator+=(const FlipSight& more) {
    sum += more.sum;
    largest = std::max(largest, more.largest);
    finite = finite && more.finite;
    return *this;
  }
};

/// Returns what is seen of `count` numbers in F32, BF16 or F16 whose places in the tensor are
/// place(0), place(1) and so on.
template <class Place>
FlipSight flip_sight(const std::byte* numbers, DType type, std::int64_t count, Place&& place) {
  FlipSight seen;
  const auto bytes = static_cast<std::size_t>(bytes_of(type));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::byte* const at = numbers + static_cast<std::size_t>(i) * bytes;
    std::uint32_t bits = 0;
    std::memcpy(&bits, at, bytes);
    float number = 0;
    to_floats(at, type, &number, 1);
    seen.sum.add(bits, place(i));
    const double size = std::abs(static_cast<double>(number));
    if (!std::isfinite(size))
      seen.finite = false;
    else
      seen.largest = std::max(seen.largest, size);
  }
  return seen;
}

/// Sees a tensor whose numbers lie side by side.
inline FlipSight flip_sight(const std::byte* numbers, DType type, std::int64_t count) {
  return flip_sight(numbers, type, count, [](std::int64_t i) { return i; });
}

}  // namespace trainyard
