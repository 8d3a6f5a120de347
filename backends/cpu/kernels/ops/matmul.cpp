// Computes y = x w + b. The leading dimensions of x are rows. The weight may be stored transposed,
// if it is an embedding's table.
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/operands.h"
#include "backends/cpu/kernels/product.h"

namespace trainyard {
namespace {

Matrix matrix(const TensorView& v) { return {v.data, v.type, v.transposed}; }
Matrix across(Matrix m) {
  m.transposed = !m.transposed;
  return m;
}

void matmul_forward(const KernelCall& call) {
  const TensorView &x = input(call, 0), &w = input(call, 1), &y = output(call);
  // If tensor ranks sum their products, only the first adds the bias.
  const bool biased =
      call.node.inputs.size() == 3 && (call.tensor_rank == 0 || call.inputs[2].there());
  const Matrix bias = biased ? matrix(input(call, 2)) : Matrix{};
  product(x.elements() / w.size[0], w.size[1], w.size[0], matrix(x), matrix(w), bias, matrix(y),
          false, call.scratch, call.variants);
}

void matmul_backward_input(const KernelCall& call) {
  const Target dx = target(call, 0);
  if (!dx) return;
  const TensorView &w = input(call, 1), &dy = output_gradient(call);
  product(dy.elements() / w.size[1], w.size[0], w.size[1], matrix(dy), across(matrix(w)), {},
          matrix(dx.view), dx.add, call.scratch, call.variants);
}

void matmul_backward_weight(const KernelCall& call) {
  const TensorView& dy = output_gradient(call);
  const std::int64_t n = width(dy), m = rows(dy);
  if (const Target dw = target(call, 1)) {
    const TensorView& x = input(call, 0);
    const std::int64_t k = dw.view.size[0];
    // The gradient of a transposed weight is dy^T x.
    if (dw.view.transposed)
      product(n, k, m, across(matrix(dy)), matrix(x), {}, across(matrix(dw.view)), true,
              call.scratch, call.variants);
    else
      product(k, n, m, across(matrix(x)), matrix(dy), {}, matrix(dw.view), true, call.scratch,
              call.variants);
  }
  if (const Target db = target(call, 2)) add_rows(m, n, matrix(dy), matrix(db.view), call.scratch);
}

}  // namespace

CpuKernel matmul_kernel() {
  CpuKernel made{matmul_forward, matmul_backward_input, matmul_backward_weight};
  made.sixteen_bit = true;
  return made;
}

}  // namespace trainyard
