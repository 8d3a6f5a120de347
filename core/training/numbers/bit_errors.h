// Memory that is run at a low voltage saves energy and flips bits, each independently of the others
// and with a probability that grows as the voltage falls. Which bits fail first is a property of a
// chip: those that fail at one rate also fail at every higher one. Weights lie in it as codes of a
// quantiser that few flipped bits harm little.
//
// Stutz et al., "Bit Error Robustness for Energy-Efficient DNN Accelerators", MLSys 2021.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/random.h"

namespace trainyard {

/// Codes of a tensor between its smallest and its largest number, without a sign: with
/// m = 2^(bits - 1) - 1 and n = 2 (w - low) / (high - low) - 1, the code of w is round(n m) + m.
/// The range itself lies where no bit flips.
struct RobustQuantiser {
  double low = 0, high = 0;  // a range is at least kLeastRange wide
  int bits = 8;              // of a code, 2 to 8
  std::uint8_t code(float weight) const;
  /// The number of a code; the largest code, which only an error makes, lies one step above `high`.
  float number(std::uint8_t code) const;
};
inline constexpr double kLeastRange = 1e-3;

/// The quantiser of a tensor, whose numbers are finite.
RobustQuantiser robust_quantiser(int bits, std::span<const float> weights);

/// FailingBits say which bits of a memory fail. Every bit has one number that is drawn uniformly
/// from [0, 1) by `chip`, `tensor` and its place, in steps of 2^-32, and fails where the rate is
/// above it.
struct FailingBits {
  double rate = 0;  // probability that a bit is flipped, in [0, 1]
  std::uint64_t chip = 0, tensor = 0;
};

/// Flips the failing ones of the lowest `bits` bits of each code. Twice, it undoes itself.
void flip_bits(const FailingBits&, int bits, std::span<std::uint8_t> codes);

/// Replaces weights by those that their codes stand for after errors; at a rate of 0 by their
/// quantised numbers alone.
void store_with_errors(int bits, const FailingBits&, std::span<float> weights);

}  // namespace trainyard
