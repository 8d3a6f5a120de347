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
  while (row < shape.rows) starts[++row] = static_cast<std::int32_t>(places.size());
  return {shape.rows, shape.block, starts, columns, values == nullptr ? nullptr : values->f32()};
}

// Operands with the batch last: the floats of a row that are read, which are whole lanes, and those
// from one row to the next. These are an odd number of lanes, or the rows of a batch of a power of
// two would all lie in a few sets of the caches.
struct BatchLast {
  explicit BatchLast(std::int64_t samples)
      : batch(samples), read(padded(samples)), row(read / kLanes % 2 == 0 ? read + kLanes : read) {}
  std::int64_t batch, read, row;

  // Returns `from`, of [batch, width], with the batch last, or zeros where it is null.
  float* of(const float* from, std::int64_t width, Scratch& scratch) const {
    float* const made = scratch.floats(width * row);
    if (from == nullptr || read > batch)
      std::memset(made, 0, static_cast<std::size_t>(width * row) * sizeof(float));
    if (from != nullptr) transpose(batch, width, from, width, made, row);
    return made;
  }
  void back(const float* from, std::int64_t width, float* to) const {
    transpose(width, batch, from, row, to, width);
  }
};

// Calls f(index of the stored weight, its column) for each stored weight of a row. Blocks of one
// weight, the most frequent ones, have no loop of their own.
template <class F>
TRAINYARD_INLINE void each_of_row(const StoredBlocks& w, std::int64_t row, F f) {
  if (w.block == 1) {
    for (std::int32_t b = w.starts[row]; b < w.starts[row + 1]; ++b) f(b, w.columns[b]);
    return;
  }
  for (std::int32_t b = w.starts[row]; b < w.starts[row + 1]; ++b)
    for (std::int64_t i = 0; i < w.block; ++i) f(b * w.block + i, w.columns[b] + i);
}

// Adds a multiple of one row to another.
TRAINYARD_INLINE void add_multiple(float value, const float* from, float* to, std::int64_t read) {
  const Lanes factor = all(value);
  std::int64_t i = 0;
  for (; i + 2 * kLanes <= read; i += 2 * kLanes) {
    store(to + i, load(to + i) + factor * load(from + i));
    store(to + i + kLanes, load(to + i + kLanes) + factor * load(from + i + kLanes));
  }
  if (i < read) store(to + i, load(to + i) + factor * load(from + i));
}

// Halves are added to each other, which stays in registers.
TRAINYARD_INLINE float sum_in_registers(Lanes x) {
  x += __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
  x += __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
  x += __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
  return x[0];
}

// Adds to each row of y the rows of x that are stored against it.
TRAINYARD_VECTORISED void add_all(StoredBlocks w, const float* x, float* y,
                                  const BatchLast& batch) {
  const std::int64_t step = batch.row, read = batch.read;
  for (std::int64_t row = 0; row < w.rows; ++row)
    each_of_row(w, row, [&](std::int64_t stored, std::int64_t column) TRAINYARD_INLINED {
      add_multiple(w.values[stored], x + row * step, y + column * step, read);
    });
}

// Adds to each row of x the rows of y that its stored weights stand against.
TRAINYARD_VECTORISED void gather_all(StoredBlocks w, const float* y, float* x,
                                     const BatchLast& batch) {
  const std::int64_t step = batch.row, read = batch.read;
  for (std::int64_t row = 0; row < w.rows; ++row)
    each_of_row(w, row, [&](std::int64_t stored, std::int64_t column) TRAINYARD_INLINED {
      add_multiple(w.values[stored], y + column * step, x + row * step, read);
    });
}

// Adds to each stored weight's gradient the product of its two rows.
TRAINYARD_VECTORISED void add_gradients(StoredBlocks w, const float* x, const float* y,
                                        float* gradients, const BatchLast& batch) {
  const std::int64_t step = batch.row, read = batch.read;
  for (std::int64_t row = 0; row < w.rows; ++row) {
    const float* const from = x + row * step;
    each_of_row(w, row, [&](std::int64_t stored, std::int64_t column) TRAINYARD_INLINED {
      const float* const against = y + column * step;
      Lanes even{}, odd{};
      std::int64_t i = 0;
      for (; i + 2 * kLanes <= read; i += 2 * kLanes) {
        even += load(from + i) * load(against + i);
        odd += load(from + i + kLanes) * load(against + i + kLanes);
      }
      if (i < read) even += load(from + i) * load(against + i);
      gradients[stored] += sum_in_registers(even + odd);
    });
  }
}

void sparse_matmul_forward(const KernelCall& call) {
  const TensorView &x = input(call, 0), &y = output(call);
  const Scratch::Frame frame(call.scratch);
  const BatchLast batch(rows(x));
  const StoredBlocks w = stored_blocks(call, &input(call, 1));
  const float* const from = batch.of(x.f32(), width(x), call.scratch);
  float* const to = batch.of(nullptr, width(y), call.scratch);
  if (call.node.inputs.size() == 4) {
    const float* const bias = input(call, 3).f32();
    for (std::int64_t j = 0; j < width(y); ++j)
      std::fill_n(to + j * batch.row, batch.read, bias[j]);
  }
  add_all(w, from, to, batch);
  batch.back(to, width(y), y.f32());
}

void sparse_matmul_backward_input(const KernelCall& call) {
  const Target dx = target(call, 0);
  if (!dx) return;
  const TensorView& dy = output_gradient(call);
  const Scratch::Frame frame(call.scratch);
  const BatchLast batch(rows(dy));
  const StoredBlocks w = stored_blocks(call, &input(call, 1));
  const float* const from = batch.of(dy.f32(), width(dy), call.scratch);
  float* const to = batch.of(dx.add ? dx.view.f32() : nullptr, width(dx.view), call.scratch);
  gather_all(w, from, to, batch);
  batch.back(to, width(dx.view), dx.view.f32());
}

void sparse_matmul_backward_weight(const KernelCall& call) {
  const TensorView& dy = output_gradient(call);
  const std::int64_t n = width(dy);
  const Scratch::Frame frame(call.scratch);
  if (const Target dw = target(call, 1)) {
    const TensorView& x = input(call, 0);
    const BatchLast batch(rows(dy));
    const StoredBlocks w = stored_blocks(call, nullptr);
    const float* const in = batch.of(x.f32(), width(x), call.scratch);
    const float* const out = batch.of(dy.f32(), n, call.scratch);
    add_gradients(w, in, out, dw.view.f32(), batch);
  }
  if (const Target db = target(call, 3))
    add_rows(rows(dy), n, {dy.data, dy.type, false}, {db.view.data, db.view.type, false},
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
