// Whole numbers of few bits, stored without loss: a group of neighbours takes as many bits a number
// as its widest member needs, so that a tensor whose scale follows from a few outliers takes less
// than its format does. On a chip this makes each memory larger, and it cuts the bytes that are
// moved.
//
// A group of G numbers is a header of ceil(log2(bits)) bits, which has the width less one, and G
// fields of that width: the size in the lower bits and the sign above it. The least number of the
// format, -2^(bits - 1), has no such form; at the full width minus zero stands for it. Tiles begin
// at addresses of their own, so that any one of them is read alone; within it headers come before
// fields.
//
// Edo Vivancos et al., "Boveda: Building an On-Chip Deep Learning Memory Hierarchy Brick by Brick",
// MLSys 2021.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace trainyard {

/// A BovedaForm says how numbers are grouped. The fields of a group fill whole bytes, and so do the
/// headers of a tile.
struct BovedaForm {
  std::int64_t group = 8;    // numbers of a common width, a multiple of 8
  std::int64_t tile = 4096;  // numbers that are read together, a multiple of 8 groups
};

/// Numbers of 8 or 16 bits in tiles.
struct BovedaTensor {
  BovedaForm form;
  int bits = 8;                        // of a number, 8 or 16
  std::int64_t count = 0;              // of the numbers
  std::vector<std::uint64_t> address;  // by tile, and the end of the last one, in bytes
  std::vector<std::uint8_t> stored;    // and 16 bytes that a reader may touch behind them

  std::size_t tiles() const { return address.empty() ? 0 : address.size() - 1; }
  /// The numbers of a tile.
  std::int64_t count_of(std::size_t tile) const;
  /// Bytes that are stored of a tile, over those of its numbers as they were.
  double ratio_of(std::size_t tile) const;
  /// Returns that ratio of all tiles together; 1 where there are no numbers. Addresses of tiles are
  /// not counted.
  double ratio() const;
  /// The largest ratio of a tile, which says how much fits into a memory of fixed rows.
  double worst_ratio() const;
};

/// Asserts that the form is as it is documented.
BovedaTensor boveda_encode(std::span<const std::int8_t>, const BovedaForm& = {});
BovedaTensor boveda_encode(std::span<const std::int16_t>, const BovedaForm& = {});

/// Writes the numbers of one tile, count_of() of them, which are of the tensor's bits.
void boveda_decode(const BovedaTensor&, std::size_t tile, std::span<std::int8_t>);
void boveda_decode(const BovedaTensor&, std::size_t tile, std::span<std::int16_t>);
/// Writes all numbers.
void boveda_decode(const BovedaTensor&, std::span<std::int8_t>);
void boveda_decode(const BovedaTensor&, std::span<std::int16_t>);

/// Returns numbers rounded to 8 bits: multiples of the largest size over 127.
std::vector<std::int8_t> eight_bit_codes(std::span<const float>);

}  // namespace trainyard
