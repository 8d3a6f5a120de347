// The format of operands under precision=vs-quant: whole numbers of few bits with a scale of few
// bits for each vector along the dimension that a product sums over (Dai et al., "VS-Quant", MLSys
// 2021). The arithmetic is in core/training/numbers/vector_scales.h.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/units.h"
#include "core/plan/plan.h"

namespace trainyard {

struct VectorFormat {
  int weights = 4, activations = 4;  // bits of a code
  std::int64_t vector = 16;          // elements that share a scale
  int scale_bits = 4;                // of such a scale

  /// Return the bytes of so many elements: bits, and M bits for every V elements. The 4 bytes of a
  /// row's or a channel's own scale are left out, as those of a row are in fp8.
  Bytes weight_bytes(std::int64_t elements) const { return bytes(weights, elements); }
  Bytes activation_bytes(std::int64_t elements) const { return bytes(activations, elements); }

 private:
  Bytes bytes(int bits, std::int64_t elements) const {
    constexpr std::int64_t kByte = 8;
    const std::int64_t vectors = (elements + vector - 1) / vector;
    return Bytes{(elements * bits + vectors * scale_bits + kByte - 1) / kByte};
  }
};

/// Returns the format of the plan's products; nothing where its precision is another.
std::optional<VectorFormat> vector_format(const Plan&);

}  // namespace trainyard
