// The number formats of 8 and 4 bits, and tensors in them: a code for each element, and a scale for
// the elements that share one.
//
//   E4M3   sign, 4 bits of exponent, 3 of mantissa: to 448, NaN, no infinity
//   E5M2   sign, 5 bits of exponent, 2 of mantissa: to 57344, infinities, NaN
//   E2M1   sign, 2 bits of exponent, 1 of mantissa: 0, 0.5, 1, 1.5, 2, 3, 4, 6
//   E8M0   8 bits of exponent: a power of two from 2^-127 to 2^127, or NaN; for scales
//
// Micikevicius et al., "FP8 Formats for Deep Learning", 2022; Open Compute Project, "OCP
// Microscaling Formats (MX) Specification 1.0", 2023; NVIDIA, "Pretraining Large Language Models
// with NVFP4", 2025.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace trainyard {

/// A format of a sign, an exponent and a mantissa in at most 8 bits.
struct SmallFloat {
  int exponent_bits, mantissa_bits;
  std::uint8_t largest;    // code of the largest finite number
  std::uint8_t infinity;   // its code; 0 = there is none
  std::uint8_t no_number;  // the code of NaN; 0 = there is none
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};
inline constexpr SmallFloat kE4M3{4, 3, 0x7e, 0, 0x7f};
inline constexpr SmallFloat kE5M2{5, 2, 0x7b, 0x7c, 0x7f};
inline constexpr SmallFloat kE2M1{2, 1, 0x7, 0, 0};

/// Both round to nearest even and saturate: what is larger than the largest number, infinity
/// included, becomes the largest. NaN stays NaN; in a format without NaN it becomes the largest.
std::uint8_t narrow_code(const SmallFloat&, float);
float narrow_number(const SmallFloat&, std::uint8_t code);

/// The power of two of a code of E8M0; NaN for 255.
float power_of_code(std::uint8_t code);

/// Bits of operands in whole numbers with scales for vectors
/// (core/training/numbers/vector_scales.h).
struct VectorBits {
  int weights = 0, activations = 0;  // of a code
  int scale = 0;                     // of a vector's scale
};

/// Which elements of an operand share a scale, and in which format it is.
struct NarrowScaling {
  enum class Scale : std::uint8_t {
    Power,        // the largest power of two that keeps all elements in range
    SharedPower,  // E8M0 as the MX specification chooses it: the exponent of the largest element
    OfTensorAndBlock,  // E4M3 for a block, times a 4-byte number for the tensor
    OfIntegers,        // one mantissa step: elements are 16-bit integers (autoflex.h), and the
                       // formats of floats say nothing
  };
  SmallFloat element, gradient;  // of forward's operands, and of gradients
  Scale scale = Scale::Power;
  std::int64_t block = 0;     // elements of a line that share a scale; 0 = all of the line
  bool whole_tensor = false;  // all elements of the tensor share one
  bool tiles = false;         // of a weight, the elements of a square of blocks share one
  /// Codes are whole numbers, and a block is a vector of them; the fields of floats do not count.
  std::optional<VectorBits> vectors = {};
};
inline constexpr NarrowScaling kMxfp8{kE4M3, kE4M3, NarrowScaling::Scale::SharedPower, 32};
inline constexpr NarrowScaling kNvfp4{kE2M1, kE2M1, NarrowScaling::Scale::OfTensorAndBlock, 16};
inline constexpr NarrowScaling kFp8Tensor{kE4M3, kE5M2, NarrowScaling::Scale::Power, 0, true};
inline constexpr NarrowScaling kFp8Row{kE4M3, kE5M2, NarrowScaling::Scale::Power, 0};
inline constexpr NarrowScaling kFp8Block{kE4M3, kE5M2, NarrowScaling::Scale::Power,
                                         128,   false, true};
inline constexpr NarrowScaling kFlex16{kE4M3, kE4M3, NarrowScaling::Scale::OfIntegers, 0, true};

/// The lines of a dense tensor along the dimension that a product sums over: element i of line
/// (o, j) lies at (o * length + i) * inner + j.
struct Lines {
  std::int64_t outer = 1, length = 0, inner = 1;
  std::int64_t elements() const { return outer * length * inner; }
};

/// The squares of one or several matrices whose elements share a scale: of `side` rows and columns,
/// and fewer at the ends. Products along either dimension read the same codes of such a weight.
struct Tiles {
  std::int64_t matrices = 1, rows = 0, columns = 0, side = 1;
  std::int64_t down() const { return (rows + side - 1) / side; }
  std::int64_t across() const { return (columns + side - 1) / side; }
  std::int64_t count() const { return matrices * down() * across(); }
  /// The tile of an element, which is counted along rows.
  std::int64_t of(std::int64_t element) const {
    const std::int64_t row = element / columns;
    return (row / rows * down() + row % rows / side) * across() + element % columns / side;
  }
};

/// The largest finite size of an element; 0 if there is none.
float largest_size(const float* values, std::int64_t count);

/// The smallest power of two by which a size of `largest` can be divided and stay below `range`,
/// 2^-floor(log2(range / largest)) within those of normal numbers; 1 where it is 0.
float power_scale(float range, float largest);
/// The scale of all elements of a tensor that share one, a power of two, where none of them is
/// expected to be larger.
float tensor_scale(const SmallFloat&, float largest);
/// The code of a power of two in E8M0, whose number power_of_code() gives; 255 for NaN.
std::uint8_t code_of_power(float);

/// The number of scales of a tensor.
std::int64_t scale_count(const NarrowScaling&, const Lines&);
/// The bytes of its codes: two codes of E2M1 share a byte.
std::int64_t code_bytes(const SmallFloat&, std::int64_t elements);

/// Writes the codes and the scales of a tensor. `largest`: the size that elements are expected to
/// have at most, where the whole tensor shares a scale or a part of it; larger ones saturate. A
/// block with an element that is no number, or infinite, becomes NaN where it has a scale of its
/// own with NaN.
void to_narrow(const NarrowScaling&, const SmallFloat&, const Lines&, float largest,
               const float* values, std::uint8_t* codes, float* scales);
void from_narrow(const NarrowScaling&, const SmallFloat&, const Lines&, const std::uint8_t* codes,
                 const float* scales, float* values);

// These take the elements of a weight in tiles from `first` on. `largest` has for each tile of the
// whole weight the largest finite size of an element, of which tensor_scale() makes the scale.

/// Raises `largest` to what is found among the values.
void see_tiles(const Tiles&, std::int64_t first, std::span<const float> values,
               std::span<float> largest);
void tiles_to_narrow(const SmallFloat&, const Tiles&, std::int64_t first,
                     std::span<const float> values, std::span<const float> largest,
                     std::uint8_t* codes);
void tiles_from_narrow(const SmallFloat&, const Tiles&, std::int64_t first,
                       std::span<const std::uint8_t> codes, std::span<const float> largest,
                       float* values);

}  // namespace trainyard
