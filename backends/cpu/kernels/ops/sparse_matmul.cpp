// Computes y = x w + b where w has stored blocks alone. Every stored weight meets a row of x and
// one of y across the batch: operands are transposed to have the batch last, which loops then go
// along in lanes. Elements beyond the batch are zero.
#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/lanes.h"
#include "backends/cpu/kernels/operands.h"
#include "backends/cpu/kernels/product.h"
#include "backends/cpu/kernels/small_product.h"
#include "backends/cpu/kernels/vectorised.h"
#include "core/model/sparse_pattern.h"

namespace trainyard {
namespace {

// A strip of the batch is so many lanes wide: a row's part of it stays in registers, and that of
// all rows in the nearest cache.
constexpr std::int64_t kStrip = 4 * kLanes;

// Stored blocks by compressed rows: row i has those from starts[i] to starts[i + 1].
struct StoredBlocks {
  std::int64_t rows, block;
  const std::int32_t* starts;
  const std::int32_t* columns;  // of a block's first weight
  const float* values;
};

StoredBlocks stored_blocks(const KernelCall& call, const TensorView* values) {
  const SparseShape shape = sparse_weight_of(call.graph, call.node)->shape;
  const TensorView& pattern = input(call, 2);
  const std::vector<std::int64_t> places =
      places_of(shape, std::span(pattern.f32(), static_cast<std::size_t>(pattern.elements())));
  auto* const starts = static_cast<std::int32_t*>(
      call.scratch.take(static_cast<std::size_t>(shape.rows + 1) * sizeof(std::int32_t)));
  auto* const columns = static_cast<std::int32_t*>(
      call.scratch.take(static_cast<std::size_t>(shape.blocks) * sizeof(std::int32_t)));
  std::int64_t row = 0;
  starts[0] = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (const std::int64_t own = places[i] / shape.row_blocks(); row < own;)
      starts[++row] = static_cast<std::int32_t>(i);
    columns[i] = static_cast<std::int32_t>(places[i] % shape.row_blocks() * shape.block);
  }
  while (row < shape.rows) starts[++row] = static_cast<std::int32_t>(shape.blocks);
  return {shape.rows, shape.block, starts, columns, values == nullptr ? nullptr : values->f32()};
}

// [batch, width] with the batch last, in rows of whole lanes; zeros where `from` is null.
float* batch_last(const float* from, std::int64_t batch, std::int64_t width, Scratch& scratch) {
  const std::int64_t each = padded(batch);
  float* const made = scratch.floats(width * each);
  if (from == nullptr || each > batch)
    std::memset(made, 0, static_cast<std::size_t>(width * each) * sizeof(float));
  if (from != nullptr) transpose(batch, width, from, width, made, each);
  return made;
}

void batch_first(const float* from, std::int64_t batch, std::int64_t width, float* to) {
  transpose(width, batch, from, padded(batch), to, width);
}

// Adds to each row of y the rows of x that are stored against it, for `kCount` lanes of the batch.
template <int kCount>
TRAINYARD_INLINE void add_products(const StoredBlocks& w, const float* x, float* y,
                                   std::int64_t each) {
  for (std::int64_t row = 0; row < w.rows; ++row) {
    Lanes from[kCount];
    for (int l = 0; l < kCount; ++l) from[l] = load(x + row * each + l * kLanes);
    for (std::int32_t b = w.starts[row]; b < w.starts[row + 1]; ++b) {
      float* to = y + w.columns[b] * each;
      const float* const values = w.values + b * w.block;
      for (std::int64_t i = 0; i < w.block; ++i, to += each)
        for (int l = 0; l < kCount; ++l)
          store(to + l * kLanes, load(to + l * kLanes) + values[i] * from[l]);
    }
  }
}

// Adds to each row of x the rows of y that its stored weights stand against.
template <int kCount>
TRAINYARD_INLINE void gather_products(const StoredBlocks& w, const float* y, float* x,
                                      std::int64_t each) {
  for (std::int64_t row = 0; row < w.rows; ++row) {
    Lanes sums[kCount];
    for (int l = 0; l < kCount; ++l) sums[l] = load(x + row * each + l * kLanes);
    for (std::int32_t b = w.starts[row]; b < w.starts[row + 1]; ++b) {
      const float* from = y + w.columns[b] * each;
      const float* const values = w.values + b * w.block;
      for (std::int64_t i = 0; i < w.block; ++i, from += each)
        for (int l = 0; l < kCount; ++l) sums[l] += values[i] * load(from + l * kLanes);
    }
    for (int l = 0; l < kCount; ++l) store(x + row * each + l * kLanes, sums[l]);
  }
}

TRAINYARD_VECTORISED void add_all(const StoredBlocks& w, const float* x, float* y,
                                  std::int64_t each) {
  std::int64_t at = 0;
  for (; at + kStrip <= each; at += kStrip) add_products<4>(w, x + at, y + at, each);
  for (; at < each; at += kLanes) add_products<1>(w, x + at, y + at, each);
}

TRAINYARD_VECTORISED void gather_all(const StoredBlocks& w, const float* y, float* x,
                                     std::int64_t each) {
  std::int64_t at = 0;
  for (; at + kStrip <= each; at += kStrip) gather_products<4>(w, y + at, x + at, each);
  for (; at < each; at += kLanes) gather_products<1>(w, y + at, x + at, each);
}

// Adds to each stored weight's gradient the product of its two rows.
TRAINYARD_VECTORISED void add_gradients(const StoredBlocks& w, const float* x, const float* y,
                                        float* gradients, std::int64_t each) {
  for (std::int64_t row = 0; row < w.rows; ++row) {
    const float* const from = x + row * each;
    for (std::int32_t b = w.starts[row]; b < w.starts[row + 1]; ++b)
      for (std::int64_t i = 0; i < w.block; ++i)
        gradients[b * w.block + i] += sum_over(
            each, [](Lanes p, Lanes q) TRAINYARD_INLINED { return p * q; }, from,
            y + (w.columns[b] + i) * each);
  }
}

void sparse_matmul_forward(const KernelCall& call) {
  const TensorView &x = input(call, 0), &y = output(call);
  const std::int64_t batch = rows(x), each = padded(batch);
  const Scratch::Frame frame(call.scratch);
  const StoredBlocks w = stored_blocks(call, &input(call, 1));
  const float* const from = batch_last(x.f32(), batch, width(x), call.scratch);
  float* const to = batch_last(nullptr, batch, width(y), call.scratch);
  if (call.node.inputs.size() == 4) {
    const float* const bias = input(call, 3).f32();
    for (std::int64_t j = 0; j < width(y); ++j) std::fill_n(to + j * each, each, bias[j]);
  }
  add_all(w, from, to, each);
  batch_first(to, batch, width(y), y.f32());
}

void sparse_matmul_backward_input(const KernelCall& call) {
  const Target dx = target(call, 0);
  if (!dx) return;
  const TensorView& dy = output_gradient(call);
  const std::int64_t batch = rows(dy);
  const Scratch::Frame frame(call.scratch);
  const StoredBlocks w = stored_blocks(call, &input(call, 1));
  const float* const from = batch_last(dy.f32(), batch, width(dy), call.scratch);
  float* const to =
      batch_last(dx.add ? dx.view.f32() : nullptr, batch, width(dx.view), call.scratch);
  gather_all(w, from, to, padded(batch));
  batch_first(to, batch, width(dx.view), dx.view.f32());
}

void sparse_matmul_backward_weight(const KernelCall& call) {
  const TensorView& dy = output_gradient(call);
  const std::int64_t batch = rows(dy), n = width(dy);
  const Scratch::Frame frame(call.scratch);
  if (const Target dw = target(call, 1)) {
    const TensorView& x = input(call, 0);
    const StoredBlocks w = stored_blocks(call, nullptr);
    const float* const in = batch_last(x.f32(), batch, width(x), call.scratch);
    const float* const out = batch_last(dy.f32(), batch, n, call.scratch);
    add_gradients(w, in, out, dw.view.f32(), padded(batch));
  }
  if (const Target db = target(call, 3))
    add_rows(batch, n, {dy.data, dy.type, false}, {db.view.data, db.view.type, false},
             call.scratch);
}

}  // namespace

CpuKernel sparse_matmul_kernel() {
  CpuKernel made;
  made.forward = sparse_matmul_forward;
  made.backward_input = sparse_matmul_backward_input;
  made.backward_weight = sparse_matmul_backward_weight;
  return made;
}

}  // namespace trainyard
