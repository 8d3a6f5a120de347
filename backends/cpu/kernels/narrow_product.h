// Runs a product whose operands are cast to 8 or 4 bits: each is rounded to codes along the
// dimension that is summed over, and multiplied as the numbers that the codes stand for, in 4-byte
// floats. Results, and the gradient of a bias, are those of the product without casts.
#pragma once

#include <vector>

#include "backends/cpu/kernels/kernel.h"
#include "core/training/narrow_format.h"

namespace trainyard {

struct NarrowOperands {
  enum Which : std::uint8_t { Input, Weight, Gradient };
  const NarrowScaling& scaling;
  // By operand: `known` is the largest absolute value of an element in earlier steps (0 = there
  // were none, and the call takes the operand's own); `seen` is the largest that this call has read
  // (0 = it has not read the operand).
  std::array<float, 3> known{}, seen{};
  /// Where the input's codes for the weight gradient are kept, and their scales: forward writes
  /// them. Null: the weight gradient casts the input itself.
  std::uint8_t* codes = nullptr;
  std::vector<float>* scales = nullptr;
};

/// As run_kernel(), of a matmul.
void run_narrow(const KernelCall&, Pass, NarrowOperands&);

}  // namespace trainyard
