#include "backends/cpu/kernels/ops/attention_tiles.h"

#include <cmath>
#include <cstdlib>

#include "backends/cpu/kernels/dropped.h"
#include "backends/cpu/kernels/lanes.h"
#include "backends/cpu/kernels/ops/softmax.h"
#include "backends/cpu/kernels/vectorised.h"
#include "core/model/ops.h"

namespace trainyard {
AttentionSizes::AttentionSizes(const KernelCall& call, const TensorView& q_view,
                               const TensorView& k_view, const TensorView& v_view) {
  const std::int64_t all_kv = attribute(call.node, "kv_heads", attribute(call.node, "heads", 1));
  const auto whole_width = [&](std::size_t i) {
    return call.graph[call.node.inputs[i]].shape.back().size;
  };
  all_heads = attribute(call.node, "heads", 1);
  qk = whole_width(0) / all_heads;
  v = whole_width(2) / all_kv;
  if (attends_over_ranks(call.node)) part = call.sequence;
  queries = q_view.size[0], keys = k_view.size[0], batch = q_view.size[1];
  all_queries = queries * part.ranks;
  heads = q_view.size[2] / qk, kv_heads = v_view.size[2] / v;
  group = all_heads / all_kv;
  first_head = call.tensor_rank * heads % all_heads;
  first_kv = first_head / group;
  causal = attribute(call.node, "causal") != 0;
  dropout = attribute(call.node, "dropout") != 0;
  window = attribute(call.node, "window");
  chunk = attribute(call.node, "chunk");
  factor = static_cast<float>(1 / std::sqrt(static_cast<double>(qk)));
  const bool divides = call.documents != nullptr && call.documents->divide_attention(causal);
  documents = divides ? call.documents : nullptr;
}

PositionBias::PositionBias(const KernelCall& call, const AttentionSizes& s)
    : queries_(s.all_queries), distances_(s.all_queries + s.keys - 1) {
  if (call.node.inputs.size() != 4) return;
  const TensorView& more = input(call, 3);
  heads_ = more.size[static_cast<std::size_t>(more.rank - 1)];
  first_ = s.first_head % heads_;
  if (call.graph[call.node.inputs[3]].shape.size() == 1) {
    sinks_ = input(call, 3).f32();
    return;
  }
  table_ = input(call, 3).f32();
  const std::int64_t count = call.graph[call.node.inputs[3]].shape[0].size;
  buckets_ = static_cast<std::int64_t*>(
      call.scratch.take(static_cast<std::size_t>(distances_) * sizeof(std::int64_t)));
  for (std::int64_t d = 0; d < distances_; ++d)
    buckets_[d] = distance_bucket(queries_ - 1 - d, s.causal, count);
  biases_ = call.scratch.floats(distances_);
  gradients_ = call.scratch.floats(distances_);
}

void PositionBias::choose_head(std::int64_t head) {
  head_ = head;
  if (!there()) return;
  for (std::int64_t d = 0; d < distances_; ++d)
    biases_[d] = table_[buckets_[d] * heads_ + first_ + head];
}
void PositionBias::clear_gradients() {
  if (there()) std::fill_n(gradients_, distances_, 0.0f);
}
void PositionBias::add_gradients(float* table, std::int64_t head) const {
  for (std::int64_t d = 0; d < distances_; ++d)
    table[buckets_[d] * heads_ + first_ + head] += gradients_[d];
}

QueryBlock query_block(const AttentionSizes& s, std::int64_t sample, std::int64_t first,
                       std::int64_t last, std::int64_t position) {
  QueryBlock block{};
  block.sample = sample;
  block.first = first;
  block.last = last;
  block.position = position;
  // Begins at whole lanes, so that reads of a packed transposed tile are aligned to its rows.
  block.low = s.first_key(sample, position) / kLanes * kLanes;
  block.high = std::max(block.low, s.last_key(sample, position + block.rows() - 1));
  block.row = padded(block.high - block.low);
  return block;
}

TRAINYARD_VECTORISED void softmax_rows(const AttentionSizes& s, const QueryBlock& block,
                                       const PositionBias& bias, float* scores, float* statistics) {
  for (std::int64_t i = 0; i < block.rows(); ++i, scores += block.row) {
    const std::int64_t position = block.position + i, first = s.first_key(block.sample, position),
                       last = s.last_key(block.sample, position), n = last - first;
    float* x = scores + (first - block.low);
    if (bias.there())
      each_lane(
          n, x, true, [](Lanes b) TRAINYARD_INLINED { return b; }, bias.row(position) + first);
    if (n > 0) statistics[i] = softmax_row(n, x, 1, x);
    if (const float* sink = bias.sink(); sink != nullptr && n > 0) {
      const float most = std::max(statistics[i], *sink),
                  all = most + std::log(std::exp(statistics[i] - most) + std::exp(*sink - most)),
                  share = std::exp(statistics[i] - all);
      each_lane(n, x, false, [share](Lanes v) TRAINYARD_INLINED { return v * share; }, x);
      statistics[i] = all;
    }
    for (std::int64_t j = block.low; j < first; ++j) scores[j - block.low] = 0;
    for (std::int64_t j = last; j < block.high; ++j) scores[j - block.low] = 0;
  }
}

TRAINYARD_VECTORISED void softmax_again(const AttentionSizes& s, const QueryBlock& block,
                                        const PositionBias& bias, float* scores,
                                        const float* statistics) {
  for (std::int64_t i = 0; i < block.rows(); ++i, scores += block.row) {
    const std::int64_t position = block.position + i, first = s.first_key(block.sample, position),
                       last = s.last_key(block.sample, position), n = last - first;
    float* x = scores + (first - block.low);
    if (bias.there())
      each_lane(
          n, x, true, [](Lanes b) TRAINYARD_INLINED { return b; }, bias.row(position) + first);
    const float logarithm = statistics[i];
    each_lane(
        n, x, false,
        [logarithm](Lanes v) TRAINYARD_INLINED { return falling_exponential(v - logarithm); }, x);
    for (std::int64_t j = block.low; j < first; ++j) scores[j - block.low] = 0;
    for (std::int64_t j = last; j < block.high; ++j) scores[j - block.low] = 0;
  }
}

TRAINYARD_VECTORISED void draw_masks(const AttentionSizes& s, const QueryBlock& block,
                                     const Random& random, std::uint64_t first_row,
                                     std::uint8_t* mask) {
  const auto keys = static_cast<std::uint64_t>(s.keys);
  for (std::int64_t i = 0; i < block.rows(); ++i, mask += block.row) {
    const std::uint64_t first =
        (first_row + static_cast<std::uint64_t>(i)) * keys + static_cast<std::uint64_t>(block.low);
    for (std::int64_t j = 0; j < block.row; ++j)
      mask[j] = static_cast<std::uint8_t>(keeps(random, first + static_cast<std::uint64_t>(j)));
  }
}

TRAINYARD_VECTORISED void mask_elements(std::int64_t n, const float* x,
                                        const std::uint8_t* __restrict mask, float* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = mask[i] != 0 ? x[i] * kKeptGrow : 0;
}

TRAINYARD_VECTORISED void softmax_backward(const QueryBlock& block, const float* softmax,
                                           float* gradients) {
  const std::int64_t n = block.seen();
  for (std::int64_t i = 0; i < block.rows(); ++i, softmax += block.row, gradients += block.row) {
    const float mean =
        sum_over(n, [](Lanes p, Lanes d) TRAINYARD_INLINED { return p * d; }, softmax, gradients);
    each_lane(
        n, gradients, false, [mean](Lanes p, Lanes d) TRAINYARD_INLINED { return p * (d - mean); },
        softmax, gradients);
  }
}

}  // namespace trainyard
