// Flexpoint: the elements of a tensor are 16-bit integers, its mantissas, which share one exponent
// of 5 bits; Autoflex chooses the exponent before the mantissas are computed, from the largest ones
// that the tensor had before.
//
//   phi = M k                                    M: largest |mantissa| of a use; k: a step of it
//   chi = alpha max(f) + beta std(f) + gamma k   f: the last 16 phi
//   k <- 2^(ceil(log2 chi) - 15)                 for the next use
//
// After a use that saturated, M = 32767, f is forgotten, and 2 M k stands in for the size that
// nobody knows.
//
// We read the unit of gamma as the mantissa step: 100 of 32767, so that the term adds 0.3 % of the
// range while it is in use, and where the tensor has vanished lets the step fall by at most a
// factor of 2^8 at a time. Read as a number of the tensor's own unit it would be the whole
// prediction.
//
// The format leaves open which 32 exponents its 5 bits mean. Here they are steps from 2^-35 to
// 2^-4: ranges from 2^-20, below which gradients lose bits, to 2047, to which activations reach.
//
// Koester et al., "Flexpoint: An Adaptive Numerical Format for Efficient Training of Deep Neural
// Networks", NIPS 2017, algorithms 1 and 2.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace trainyard {

inline constexpr int kLargestMantissa = 32767;
inline constexpr int kLeastFlexExponent = -35, kMostFlexExponent = -4;

/// Returns the mantissas of numbers under a step, a power of two: rounded to the nearest, ties to
/// even. What is larger than 32767 steps becomes 32767 of them; integers have no code for what is
/// no number, which becomes that, too.
void to_flex(std::span<const float>, float step, std::int16_t* mantissas);
void from_flex(std::span<const std::int16_t>, float step, float* numbers);

/// Chooses the first step of a tensor whose largest element has this size, as Flexpoint does by
/// repeating the first use: a factor of 2^7 after saturation, and the factor that leaves one spare
/// bit once the largest mantissa has bits enough to tell it.
struct FirstFlexStep {
  float step = 0;
  int uses = 0;  // how often the first use was computed, the last time included
};
FirstFlexStep first_flex_step(float largest);

struct AutoflexFactors {
  double alpha = 2, beta = 3, gamma = 100;
};

/// The exponent of one tensor over its uses.
class Autoflex {
 public:
  static constexpr std::size_t kUses = 16;  // that a prediction looks back

  Autoflex() = default;
  explicit Autoflex(const AutoflexFactors& factors) : factors_(factors) {}

  /// One mantissa step of the next use; 0 before the first use.
  float step() const { return step_; }
  /// The largest size that the next use represents.
  float range() const { return static_cast<float>(kLargestMantissa) * step_; }
  /// Tells the size of the largest element of a use, of which only its mantissa counts: 32767 for
  /// all larger ones. The first use chooses its own step.
  void see(float largest);

  std::int64_t uses() const { return uses_; }
  std::int64_t saturated() const { return saturated_; }  // uses with an element out of range
  /// The mean over uses of log2(1 + the largest mantissa): 15 where all bits are used.
  double mean_bits() const { return uses_ > 0 ? bits_ / static_cast<double>(uses_) : 0; }

  /// Returns as bytes all that later uses depend on; restore() takes them from the front of
  /// `bytes` and returns false if there are too few.
  std::string state() const;
  bool restore(std::string_view& bytes);

 private:
  void predict();

  AutoflexFactors factors_ = {};
  float step_ = 0;
  std::array<float, kUses> largest_{};  // phi, the latest at (remembered_ - 1) % kUses
  std::int64_t remembered_ = 0;         // since the last saturation
  std::int64_t uses_ = 0, saturated_ = 0;
  double bits_ = 0;  // summed over uses
};

}  // namespace trainyard
