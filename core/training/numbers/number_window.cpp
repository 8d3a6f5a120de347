#include "core/training/numbers/number_window.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "core/training/numbers/roundings.h"

namespace trainyard {
namespace {

// Both 16-bit floats have the bits of IEEE 754: the first code is the least number, and the code of
// a mantissa of zeros under the first exponent the least normal one.
NumberWindow window_of_halves(std::string format, int mantissa_bits, std::uint16_t largest,
                              float (*number)(std::uint16_t)) {
  return {std::move(format), std::ilogb(number(1)),
          std::ilogb(number(static_cast<std::uint16_t>(1u << mantissa_bits))),
          std::ilogb(number(largest))};
}

NumberWindow moved_window(NumberWindow window, int binades) {
  window.least += binades, window.least_normal += binades, window.most += binades;
  return window;
}

}  // namespace

NumberWindow window_of(DType type) {
  if (type == DType::F16) return window_of_halves("fp16", 10, 0x7bff, from_f16);
  if (type == DType::BF16) return window_of_halves("bf16", 7, 0x7f7f, from_bf16);
  NumberWindow window{.format = "fp32"};
  constexpr int kMantissaOfTf32 = 10;
  if (type == DType::TF32)
    window.format = "tf32", window.least = window.least_normal - kMantissaOfTf32;
  return window;
}

NumberWindow window_of(const SmallFloat& f) {
  const auto exponent = [&](int code) {
    return std::ilogb(narrow_number(f, static_cast<std::uint8_t>(code)));
  };
  return {fmt::format("E{}M{}", f.exponent_bits, f.mantissa_bits), exponent(1),
          exponent(1 << f.mantissa_bits), exponent(f.largest), true};
}

NumberWindow window_of_integers(int bits) {
  return {fmt::format("int{}", bits), 0, bits - 2, bits - 2, true};
}

NumberWindow divided_by(NumberWindow window, double factor) {
  return moved_window(std::move(window), -static_cast<int>(std::lround(std::log2(factor))));
}

NumberWindow placed_over(NumberWindow window, const ExponentHistogram& histogram) {
  const std::optional<int> most = histogram.most();
  if (!window.scaled || !most) return window;
  const int binades = *most - window.most;
  return moved_window(std::move(window), binades);
}

WindowCounts counts_in(const NumberWindow& window, const ExponentHistogram& histogram) {
  WindowCounts found{.zeros = histogram.zeros, .not_finite = histogram.infinities + histogram.nans};
  for (int e = ExponentHistogram::kLeast; e <= ExponentHistogram::kMost; ++e)
    (e < window.least - 1      ? found.under
     : e < window.least_normal ? found.subnormal
     : e <= window.most        ? found.normal
                               : found.over) += histogram.count(e);
  return found;
}

}  // namespace trainyard
