// A SequencePart is what one of several context ranks has of a sequence. The sequence falls into
// twice as many equal pieces as there are ranks, of which rank i has the i-th from the front and
// the i-th from the back (zigzag): under a causal mask all ranks then have the same work. Tensor
// ranks that divide a sequence have one piece each, in order.
#pragma once

#include <algorithm>
#include <cstdint>

namespace trainyard {

struct SequencePart {
  int rank = 0, ranks = 1;
  bool in_order = false;

  /// Calls f(index, count, position) for each stretch of neighbouring positions among the indices
  /// [first, last) of a part of `size` positions, which a zigzag halves: its first index, its
  /// number of indices, and the position of the first in the whole sequence.
  template <class F>
  void each_stretch(std::int64_t size, std::int64_t first, std::int64_t last, F&& f) const {
    const std::int64_t piece = ranks > 1 && !in_order ? size / 2 : size;
    if (const std::int64_t end = std::min(last, piece); first < end)
      f(first, end - first, first + piece * rank);
    if (const std::int64_t begin = std::max(first, piece); begin < last)
      f(begin, last - begin, begin - piece + piece * (2 * std::int64_t{ranks} - 1 - rank));
  }
};

}  // namespace trainyard
