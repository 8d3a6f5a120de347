// Numbers in a format with scales (core/methods/precision/tensor_formats.h): a code of 16 or 8 bits
// for each, and a 4-byte scale for each block of kStateBlock numbers, counted from the first
// element of the tensor.
//
//   F16, F8 (E4M3)   the scale is the smallest power of two that keeps the block's largest number
//                    in range, so that its numbers have the bits that they would have without it
//   I8               the scale is a 127th of the largest number; codes from -127 to 127
//
// Peng et al., "FP8-LM: Training FP8 Large Language Models", 2023; Wang et al., "ZeRO++: Extremely
// Efficient Collective Communication for Giant Model Training", 2023, section 3.1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/methods/precision/tensor_state.h"

namespace trainyard {

/// A ScaledNumbers is a view of the elements [first, first + elements) of a tensor, one for each of
/// the `formats`, which must outlive it. They lie in `memory`, scaled_bytes() of each format, at
/// any address: the codes of each format, then the scales of each. Memory that is all 0 has numbers
/// that are all 0.
class ScaledNumbers {
 public:
  ScaledNumbers(std::span<const DType> formats, std::int64_t first, std::int64_t elements,
                std::byte* memory);

  std::int64_t first() const { return first_; }
  /// `format`: which of the formats. `index`: of an element, counted from the view's first. A
  /// stretch of them begins and ends with the view or between blocks.
  void read(std::size_t format, std::int64_t index, std::span<float> numbers) const;
  /// A block with a number that is infinite or none becomes one without any number where it is I8;
  /// in F16 and F8 such a number alone does, or the largest one.
  void write(std::size_t format, std::int64_t index, std::span<const float> numbers) const;
  float number(std::size_t format, std::int64_t index) const;

 private:
  std::byte* code(std::size_t format, std::int64_t index) const;
  std::byte* scale(std::size_t format, std::int64_t index) const;
  template <class F>
  void each_block(std::int64_t index, std::size_t count, F&& f) const;

  std::span<const DType> formats_;
  std::int64_t first_, elements_, blocks_;
  std::byte* memory_;
};

}  // namespace trainyard
