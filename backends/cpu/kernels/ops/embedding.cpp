// Looks up rows of a table by index. If the vocabulary is divided, a device has one range of rows:
// other indices give zeros here and no gradient, and the parts of all devices are summed
// afterwards. If the output is divided by tokens, a device looks up those of its own part.
#include <algorithm>
#include <cmath>
#include <string>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/lanes.h"
#include "backends/cpu/kernels/operands.h"
#include "backends/cpu/kernels/vectorised.h"
#include "core/base/error.h"

namespace trainyard {
namespace {

struct Table {
  const TensorView& ids;
  std::int64_t first, rows, all, columns;  // of this device: first row, rows; all: rows of the
                                           // table
  float factor;

  Table(const KernelCall& call, const TensorView& indices) : ids(indices) {
    const Shape& shape = call.graph[call.node.inputs[1]].shape;
    all = shape[0].size;
    rows = local_size(shape[0], call.binding);
    columns = local_size(shape[1], call.binding);
    first = rows < all ? call.tensor_rank * rows : 0;
    factor = attribute(call.node, "scaled") != 0
                 ? static_cast<float>(std::sqrt(static_cast<double>(columns)))
                 : 1.0f;
  }
  /// The number of indices that a device looks up whose result (or its gradient) is that.
  std::int64_t looked_up(const TensorView& result) const { return result.elements() / columns; }
  /// The row of the device's index r, of so many, among its rows; -1 if another device has it.
  std::int64_t row(const KernelCall& call, std::int64_t r, std::int64_t own) const {
    const std::int64_t id = ids.i64()[own < ids.elements() ? call.tensor_rank * own + r : r];
    if (id < 0 || id >= all)
      throw Error(Error::Kind::InvalidInput,
                  call.node.name + " (embedding): expected indices from 0 to " +
                      std::to_string(all - 1) + ", found " + std::to_string(id));
    return id >= first && id < first + rows ? id - first : -1;
  }
};

TRAINYARD_VECTORISED void scaled_row(std::int64_t n, float factor, const float* x, float* y,
                                     bool adds) {
  each_lane(n, y, adds, [factor](Lanes v) TRAINYARD_INLINED { return v * factor; }, x);
}

void embedding_forward(const KernelCall& call) {
  const Table t(call, input(call, 0));
  const float* table = input(call, 1).f32();
  float* y = output(call).f32();
  const std::int64_t own = t.looked_up(output(call));
  for (std::int64_t r = 0; r < own; ++r, y += t.columns) {
    const std::int64_t row = t.row(call, r, own);
    if (row < 0)
      std::fill_n(y, t.columns, 0.0f);
    else
      scaled_row(t.columns, t.factor, table + row * t.columns, y, false);
  }
}

void embedding_backward_weight(const KernelCall& call) {
  const Target d = target(call, 1);
  if (!d) return;
  const Table t(call, input(call, 0));
  const float* dy = output_gradient(call).f32();
  const std::int64_t own = t.looked_up(output_gradient(call));
  for (std::int64_t r = 0; r < own; ++r, dy += t.columns)
    if (const std::int64_t row = t.row(call, r, own); row >= 0)
      scaled_row(t.columns, t.factor, dy, d.view.f32() + row * t.columns, true);
}

}  // namespace

CpuKernel embedding_kernel() {
  CpuKernel made;
  made.forward = embedding_forward;
  made.backward_weight = embedding_backward_weight;
  return made;
}

}  // namespace trainyard
