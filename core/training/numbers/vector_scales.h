// Numbers as whole numbers of few bits, of which each short vector of a line shares a scale. In two
// levels a vector's scale is itself a whole number of few bits, and the line has one 4-byte scale
// for all of its vectors:
//
//   s = largest |x| of the vector / largest code    gamma = largest s of the line / (2^M - 1)
//   s_q = ceil(s / gamma)                            x ~ code * s_q * gamma
//
// Scales of vectors are rounded up: one that is rounded down clips the largest numbers of its
// vector, which at 8 bits loses more than a scale for the whole line would. A product of two lines
// is one of whole numbers for each pair of vectors, times the whole product of their scales, and
// one multiplication of 4-byte numbers at the end.
//
// Dai, Venkatesan, Ren, Zimmer, Dally and Khailany, "VS-Quant: Per-Vector Scaled Quantization for
// Accurate Low-Precision Neural Network Inference", MLSys 2021.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/training/numbers/narrow_format.h"

namespace trainyard {

struct VectorScales {
  int bits = 4;              // of a code, 2 to 8
  std::int64_t vector = 16;  // neighbours along a line that share a scale; 0 = all of the line
  int scale_bits = 4;        // of a vector's scale, 1 to 10; 0 = each is a 4-byte number by itself
  bool is_signed = true;     // codes from -(2^(bits-1) - 1) on; else from 0, as after a ReLU
  /// The largest code.
  int most() const { return (1 << (is_signed ? bits - 1 : bits)) - 1; }
};

/// A tensor in codes. Vector v of line (o, j) is number (o * vectors + v) * inner + j; the last one
/// of a line is shorter where vectors do not divide it, as if it were padded by zeros.
struct VectorCodes {
  std::vector<std::int16_t> codes;   // by element
  std::vector<std::uint16_t> whole;  // by vector: its scale of few bits; empty without two levels
  std::vector<float> line;           // by line (o * inner + j): gamma; 1 without two levels
  std::vector<float> scales;         // by vector: what a code of it is multiplied by
};

/// Returns the vectors of a line, at least one.
std::int64_t vectors_in_line(const VectorScales&, const Lines&);

/// Returns the codes of numbers, each the nearest multiple of its vector's scale; ties to even.
/// Without a sign, negative numbers become 0. A line of two levels, or a vector, that has a number
/// which is not finite has a scale that is none, so that all of it becomes NaN.
VectorCodes to_vectors(const VectorScales&, const Lines&, const float* values);
void from_vectors(const VectorScales&, const Lines&, std::span<const std::int16_t> codes,
                  std::span<const float> scales, float* values);
/// Replaces numbers by what their codes stand for.
void round_to_vectors(const VectorScales&, const Lines&, std::vector<float>& values);

/// Returns the product of line `first` of one tensor with line `second` of another as hardware
/// computes it: in whole numbers up to the one multiplication at the end. Both have two levels and
/// vectors of one size. Throws Error{InvalidInput} for lines of other lengths.
double whole_product(const VectorScales&, const Lines& a_lines, const VectorCodes& a,
                     std::int64_t first, const VectorScales&, const Lines& b_lines,
                     const VectorCodes& b, std::int64_t second);

/// Packs codes of so many bits side by side, the first one in the lowest bits: (n * bits + 7) / 8
/// bytes. Reads them back.
void pack_codes(const VectorScales&, std::span<const std::int16_t> codes, std::uint8_t* bytes);
void unpack_codes(const VectorScales&, const std::uint8_t* bytes, std::span<std::int16_t> codes);

/// Returns the ratio of signal to the noise that rounding adds, in dB: 10 log10 of the sum of
/// squares over that of differences. Infinite without a difference, and -infinite without a signal
/// that has one.
double signal_to_noise(std::span<const float> exact, std::span<const float> rounded);

}  // namespace trainyard
