// A real factor as whole numbers, for processors without floating point: a multiplier of 31 bits
// and a shift, with the two roundings of gemmlowp. Jacob et al., "Quantization and Training of
// Neural Networks for Efficient Integer-Arithmetic-Only Inference", CVPR 2018, section 2.2.
#pragma once

#include <cstdint>

namespace trainyard {

/// A Requantisation stands for multiplier * 2^(shift - 31).
struct Requantisation {
  std::int32_t multiplier = 0;  // in [2^30, 2^31), or 0 for a factor below 2^-32
  std::int32_t shift = 0;       // in [-31, 30]; above 0 a value is multiplied first
  friend bool operator==(const Requantisation&, const Requantisation&) = default;
};

/// Returns the nearest to a factor >= 0; that below 2^30 where the factor is larger.
Requantisation requantisation(double real);
/// Returns the factor that it stands for.
double real_factor(Requantisation);

/// Returns value * factor, rounded twice: the upper half of twice the product with the multiplier
/// to the nearest, then the division by a power of two to the nearest, halves away from zero. What
/// a shift to the left makes too large for 32 bits becomes the largest or smallest 32-bit number.
std::int32_t requantised(std::int32_t value, Requantisation);

}  // namespace trainyard
