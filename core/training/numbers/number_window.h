// A NumberWindow is the range of exponents that a number format represents, laid over an exponent
// histogram: which numbers the format would lose, hold with fewer bits, or find too large.
//
//   under      would round to zero: exponent < least - 1
//   subnormal  would keep fewer bits than the format has: least - 1 <= exponent < least_normal
//   normal     least_normal <= exponent <= most
//   over       exponent > most
//
// Exponents decide, so that two thin edges are told as their neighbours are: half of the least
// number, which ties to even would take to zero, counts as subnormal, and what lies in the last
// binade above the largest number counts as normal.
//
// Formats whose elements share a scale have no place of their own. Whole numbers of n bits hold one
// binade with all of their bits, and n - 2 below it with ever fewer.
#pragma once

#include <cstdint>
#include <string>

#include "core/model/dtype.h"
#include "core/training/numbers/exponent_histogram.h"
#include "core/training/numbers/narrow_format.h"

namespace trainyard {

struct NumberWindow {
  std::string format;  // "fp16", "E4M3", "int4"
  int least = ExponentHistogram::kLeast;
  int least_normal = -126;
  int most = ExponentHistogram::kMost;  // exponents
  bool scaled = false;  // a scale shifts it to where the numbers are: see placed_over()

  friend bool operator==(const NumberWindow&, const NumberWindow&) = default;
};

/// The window of F32, TF32, F16 or BF16; that of F32 for any other format.
NumberWindow window_of(DType);
/// Those of an element before it is multiplied by its scale: of a small float, and of whole numbers
/// with a sign of so many bits, at least 2.
NumberWindow window_of(const SmallFloat&);
NumberWindow window_of_integers(int bits);

/// The window for numbers that are multiplied by a factor above 0 before they are stored, to the
/// nearest power of two: a loss scale moves the window of gradients downwards.
NumberWindow divided_by(NumberWindow, double factor);
/// A scaled window with its last binade at the largest number of the histogram: no scale that all
/// of the numbers share holds more of them. Any other window as it is.
NumberWindow placed_over(NumberWindow, const ExponentHistogram&);

/// Numbers of a histogram by where they lie. They add up to all of its elements.
struct WindowCounts {
  std::int64_t zeros = 0, under = 0, subnormal = 0, normal = 0, over = 0, not_finite = 0;
  std::int64_t elements() const { return zeros + under + subnormal + normal + over + not_finite; }
  /// A count as a share of all elements; 0 of none.
  double share(std::int64_t count) const {
    return elements() > 0 ? static_cast<double>(count) / static_cast<double>(elements()) : 0;
  }
  friend bool operator==(const WindowCounts&, const WindowCounts&) = default;
};
WindowCounts counts_in(const NumberWindow&, const ExponentHistogram&);

}  // namespace trainyard
