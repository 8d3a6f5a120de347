// Numbers of few bits that share a scale have it for a block of elements and not for a tensor, of
// which a rank may have a part.
#pragma once

#include <cstdint>

#include "core/base/units.h"
#include "core/model/dtype.h"

namespace trainyard {

/// Elements of adamw-8bit, and of formats with scales, that share a scale. They are counted from
/// the first element of the tensor, so that a rank that begins within a block has a scale of its
/// own for the rest of it. Dettmers et al. propose 2,048 in the paper; their library has 256 since
/// 2024, which costs 0.03 bytes a parameter and keeps an outlier among fewer others.
inline constexpr std::int64_t kStateBlock = 256;

/// Returns whether state, or a message, has scales where it is in that format.
constexpr bool has_scales(DType format) {
  return format == DType::F16 || format == DType::F8 || format == DType::I8;
}

/// Returns the number of blocks in which the elements [first, first + elements) of a tensor lie.
constexpr std::int64_t state_blocks(std::int64_t first, std::int64_t elements) {
  return elements == 0 ? 0 : (first + elements - 1) / kStateBlock - first / kStateBlock + 1;
}
/// Returns the bytes of these elements in a format with scales: codes, and 4 bytes for each block.
constexpr Bytes scaled_bytes(DType format, std::int64_t first, std::int64_t elements) {
  constexpr std::int64_t kScaleBytes = 4;
  return Bytes{elements * bytes_of(format) + kScaleBytes * state_blocks(first, elements)};
}

}  // namespace trainyard
