// Says how the operands of a product are cast to few bits, and where what is kept of them lies.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "backends/cpu/kernels/kernel.h"
#include "core/training/numbers/narrow_format.h"

namespace trainyard {

/// A weight that comes in codes, along the dimension that forward sums over and along that which
/// the input gradient sums over, and the scales of both in E8M0; null where one scale is of the
/// tensor, or of a tile of it, whose codes are the same along both.
struct WeightCodes {
  std::array<std::uint8_t*, 2> codes{}, scales{};
  std::span<const float> tiles = {};  // by tile, where these have scales: the largest size in it
};

struct NarrowOperands {
  enum Which : std::uint8_t { Input, Weight, Gradient };
  const NarrowScaling& scaling;
  // There is one of each for an operand: `known` is the largest absolute value of an element in
  // earlier steps (0 = there were none, and the call takes the operand's own); `seen` is the
  // largest that this call has read (0 = it has not read the operand).
  std::array<float, 3> known{}, seen{};
  /// Where the input's codes for the weight gradient are kept, and their scales: forward writes
  /// them. Null: the weight gradient casts the input itself.
  std::uint8_t* codes = nullptr;
  std::vector<float>* scales = nullptr;
  WeightCodes weight = {};  // of a weight that is given in F8
  // Under sequence parallel the input has been gathered, and a rank keeps these rows of it alone;
  // -1: it keeps all. Rows of routed tokens are kept in the order of their experts, those of whole
  // numbers in their own.
  std::int64_t first_kept_row = 0, kept_rows = -1;
  // These two are for whole numbers: the input has no negative numbers, so that its codes have no
  // sign; and the input of a weight gradient has been rounded by forward already.
  bool no_negative_input = false, rounded_input = false;
};

/// The lines of a weight [in, out] or [experts, in, out] along which a product sums.
Lines lines_of_weight(std::span<const std::int64_t> shape, bool along_outputs);

/// The tiles of such a weight.
Tiles tiles_of_weight(std::span<const std::int64_t> shape, const NarrowScaling&);

}  // namespace trainyard
