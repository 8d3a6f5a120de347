// Dynamic 8-bit codes: numbers in [-1, 1] or [0, 1] whose spacing grows with their size, so that a
// byte reaches over seven decades. Dettmers et al., "8-bit Optimizers via Block-wise Quantization",
// ICLR 2022.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace trainyard {

/// A DynamicCodes is the list of the 256 numbers that a byte stands for, in rising order: 0, 1, and
/// in each decade [10^(i-7), 10^(i-6)], i = 0 ... 6, the middles of equal parts, 2^i of them with
/// either sign, or 2^(i+1) where all numbers are positive.
class DynamicCodes {
 public:
  explicit DynamicCodes(bool has_sign);
  float number(std::uint8_t code) const { return numbers_[code]; }
  /// Returns the code of the nearest number; of two that are as near, the smaller number's. A
  /// number outside the list's range has the code at that end, and one that is no number has the
  /// last.
  std::uint8_t code(float number) const;
  friend void from_codes(const DynamicCodes&, const std::uint8_t* codes, float scale,
                         std::size_t count, float* numbers);
  friend float to_codes(const DynamicCodes&, const float* numbers, std::size_t count,
                        std::uint8_t* codes);

 private:
  std::array<float, 256> numbers_{};
  std::array<float, 256> between_{};  // where one code ends and the next begins
  // Least code of each piece of the positive and then of the negative numbers.
  std::vector<std::int32_t> first_;
};

/// Reads `count` numbers that are `scale` times those that codes stand for.
void from_codes(const DynamicCodes&, const std::uint8_t* codes, float scale, std::size_t count,
                float* numbers);
/// Writes the codes of numbers over the largest of their sizes, which it returns; 0 where all are.
float to_codes(const DynamicCodes&, const float* numbers, std::size_t count, std::uint8_t* codes);

}  // namespace trainyard
