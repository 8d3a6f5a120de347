// Attention tiles are what the forward and backward of attention share: the layout of operands, and
// one block of queries against the keys that it sees. A block's scores are whole rows in scratch
// memory; the matrix of all scores exists only if the call keeps it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backends/cpu/kernels/kernel.h"
#include "backends/cpu/kernels/lanes.h"
#include "backends/cpu/kernels/operands.h"

namespace trainyard {

inline constexpr std::int64_t kQueryBlock = 32;

struct QueryBlock;

/// The sizes of this device's part, in [sequence, batch, heads x width]; several query heads may
/// share a key head. Queries are addressed by their index here; what they see depends on their
/// position in the whole sequence and, where documents share a sample, on its document.
struct AttentionSizes {
  SequencePart part;
  std::int64_t queries, keys, batch, heads, kv_heads, qk, v;
  std::int64_t all_queries;            // of the whole sequence
  std::int64_t all_heads, first_head;  // in the whole model; index of this device's first head
  std::int64_t group, first_kv;  // query heads per key head; index of this device's first key head
  bool causal, dropout;
  std::int64_t window, chunk;  // 0 = unlimited
  float factor;
  const DocumentBounds* documents;  // null: a sample is one text

  AttentionSizes(const KernelCall&, const TensorView& q, const TensorView& k, const TensorView& v);

  std::int64_t kv_of(std::int64_t head) const { return (first_head + head) / group - first_kv; }
  std::int64_t row(std::int64_t b, std::int64_t head, std::int64_t i) const {
    return (b * heads + head) * queries + i;
  }
  /// The index of a row among those of all devices, so that masks do not depend on how heads and
  /// the sequence are divided.
  std::uint64_t drawn_row(std::int64_t b, std::int64_t head, std::int64_t position) const {
    return static_cast<std::uint64_t>((b * all_heads + first_head + head) * all_queries + position);
  }
  std::int64_t stride(std::int64_t head_count, std::int64_t width) const {
    return batch * head_count * width;
  }
  std::int64_t at(std::int64_t b, std::int64_t head_count, std::int64_t head,
                  std::int64_t width) const {
    return (b * head_count + head) * width;
  }
  /// The keys that the query at a position of a sample sees, half-open; both bounds grow with the
  /// position. Padding sees none.
  std::int64_t first_key(std::int64_t b, std::int64_t position) const {
    const std::int64_t begin = documents != nullptr ? documents->begin(b, position) : 0;
    const std::int64_t first =
        std::min(keys, begin + (chunk > 0 ? (position - begin) / chunk * chunk : 0));
    return causal && window > 0 ? std::clamp(position - window + 1, first, keys) : first;
  }
  std::int64_t last_key(std::int64_t b, std::int64_t position) const {
    const std::int64_t end = documents != nullptr ? documents->end(b, position) : keys;
    if (causal) return std::min(end, position + 1);
    return chunk > 0 ? std::min(end, first_key(b, position) + chunk) : end;
  }
  /// Calls f(QueryBlock) for all queries of this device in a sample.
  template <class F>
  void each_block(std::int64_t b, F&& f) const;
};

/// T5's position buckets (Raffel et al. 2020), and a head's biases by distance; or a sink for each
/// head (gpt-oss).
class PositionBias {
 public:
  /// Takes memory from the call's scratch. The table is null if the call has none.
  PositionBias(const KernelCall&, const AttentionSizes&);

  bool there() const { return table_ != nullptr; }
  /// The logarithm of what a head's sink adds to the sum of every row; null = it has none.
  const float* sink() const { return sinks_ == nullptr ? nullptr : sinks_ + first_ + head_; }
  /// Where the gradient of the head's sink is among the gradients of all.
  float& sink_gradient(float* gradients) const { return gradients[first_ + head_]; }
  void choose_head(std::int64_t head);
  /// row(i)[j] is the bias of the query at position i for key j.
  const float* row(std::int64_t i) const { return biases_ + (queries_ - 1 - i); }
  float* gradient_row(std::int64_t i) { return gradients_ + (queries_ - 1 - i); }
  void clear_gradients();
  void add_gradients(float* table, std::int64_t head) const;

 private:
  const float *table_ = nullptr, *sinks_ = nullptr;
  std::int64_t queries_, distances_, head_ = 0;
  // Heads of the table, of which ranks that exchange heads have some each; index of the first.
  std::int64_t heads_ = 1, first_ = 0;
  std::int64_t* buckets_ = nullptr;  // by key - query, ascending
  float *biases_ = nullptr, *gradients_ = nullptr;
};

/// Queries [first, last) of one sample, of neighbouring positions, against keys [low, high), the
/// keys that any of them sees. Rows of a tile are `row` elements apart and begin at key `low`.
struct QueryBlock {
  std::int64_t sample, first, last, position, low, high, row;  // position: of the first query
  std::int64_t rows() const { return last - first; }
  std::int64_t seen() const { return high - low; }
};
QueryBlock query_block(const AttentionSizes&, std::int64_t sample, std::int64_t first,
                       std::int64_t last, std::int64_t position);

template <class F>
void AttentionSizes::each_block(std::int64_t b, F&& f) const {
  part.each_stretch(queries, 0, queries,
                    [&](std::int64_t first, std::int64_t count, std::int64_t position) {
                      for (std::int64_t i = 0; i < count; i += kQueryBlock)
                        f(query_block(*this, b, first + i, first + std::min(count, i + kQueryBlock),
                                      position + i));
                    });
}

/// Replaces each row of scores by its softmax (0 where a query does not see the key) and writes the
/// logarithm of its sum.
void softmax_rows(const AttentionSizes&, const QueryBlock&, const PositionBias&, float* scores,
                  float* statistics);
/// Computes the same softmax from stored statistics.
void softmax_again(const AttentionSizes&, const QueryBlock&, const PositionBias&, float* scores,
                   const float* statistics);
/// Writes one byte per element: whether dropout keeps it.
void draw_masks(const AttentionSizes&, const QueryBlock&, const Random&, std::uint64_t first_row,
                std::uint8_t* mask);
/// Sets y to x scaled by the dropout factor where kept, and to 0 elsewhere; n elements.
void mask_elements(std::int64_t n, const float* x, const std::uint8_t* mask, float* y);
/// Computes gradients = softmax * (gradients - rowsum(softmax * gradients)).
void softmax_backward(const QueryBlock&, const float* softmax, float* gradients);

}  // namespace trainyard
