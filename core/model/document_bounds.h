// DocumentBounds say where documents begin and end in the samples of one microbatch: what the
// cumulative lengths are to an attention kernel with variable lengths (FlashAttention's
// cu_seqlens).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace trainyard {

struct DocumentBounds {
  std::int64_t sequence = 0;  // tokens of a sample
  bool packed = false;        // attention stays inside documents
  // For each position of each sample, the tokens of the document that the position is in,
  // half-open. Padding is in none: both are the position itself.
  std::vector<std::int32_t> begins, ends;
  // The divisor of a loss: tokens that are no padding, of an average microbatch of the step. A sum
  // over all tokens of a step divided so is the mean over them, however they are divided over
  // microbatches (Megatron-LM's --calculate-per-token-loss).
  double counted = 0;

  std::int64_t begin(std::int64_t sample, std::int64_t position) const {
    return begins[static_cast<std::size_t>(sample * sequence + position)];
  }
  std::int64_t end(std::int64_t sample, std::int64_t position) const {
    return ends[static_cast<std::size_t>(sample * sequence + position)];
  }
  /// Returns the position of a token in its document, from which rotary positions count.
  std::int64_t in_document(std::int64_t sample, std::int64_t position) const {
    return position - begin(sample, position);
  }
  /// Returns whether attention has to be kept inside documents: in a sample of one document and
  /// padding behind it, a causal mask does so already.
  bool divide_attention(bool causal) const { return packed || !causal; }
};

/// The label of padding, which a loss leaves out where it is given bounds.
inline constexpr std::int64_t kPaddingLabel = -1;

}  // namespace trainyard
