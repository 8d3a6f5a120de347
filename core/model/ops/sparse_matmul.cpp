// This op is x times a weight [in, out] of which only stored blocks are not zero, plus a bias
// (core/model/sparse_pattern.h). The gradient of the weight is made at the stored places alone.
//
// Work is priced by what is stored: two FLOPs a stored weight and row, and the bytes of values and
// pattern. Products are computed in 4-byte floats, whatever format dense ones have, because the
// matrix units of a device have no operands of that form.
#include <algorithm>

#include "core/model/ops.h"
#include "core/model/ops/common.h"
#include "core/model/ops/expect_sparse.h"

namespace trainyard {
namespace {

SparseWeight weight_of(const LocalNode& local) {
  return *sparse_weight_of(local.graph, local.node);
}

std::vector<Tensor> infer_sparse_matmul(const Graph& graph, const Node& node) {
  const SparseShape shape = expect_sparse_weight(graph, node);
  const Tensor& x = input(graph, node, 0);
  if (x.shape.empty() || last(x).size != shape.rows)
    refuse(node, "expected an input whose last dimension is " + std::to_string(shape.rows) +
                     " (pattern of so many rows), found " + to_text(x.shape));
  if (node.inputs.size() == 4) expect_vector(graph, node, 3, shape.columns);
  Shape made = rows_of_product(node, x.shape);
  made.push_back(dense_shape(graph, node).back());
  return one_output(std::move(made));
}

// The inner length is the mean one of the rows or columns that are summed over.
Work sparse_matmul_work(const LocalNode& local, Pass pass) {
  const SparseWeight weight = weight_of(local);
  const SparseShape& shape = weight.shape;
  const bool row = local.node.split == TensorSplit::Row;
  const std::int64_t m = rows(row ? local.input(0) : local.output(0), local.binding);
  const Bytes element{bytes_of(local.precision.activation)};
  const Bytes x = element * product({m, shape.rows}), y = element * product({m, shape.columns}),
              pattern = local.bytes(local.graph[weight.pattern]),
              stored = local.bytes(local.graph[weight.values]) + pattern;
  const auto of = [&](std::int64_t n, std::int64_t k, Bytes read, Bytes written) {
    Work work = product_work(local.precision, m, n, std::max<std::int64_t>(1, k), 1, read, written);
    work.flops = {2.0 * static_cast<double>(m) * static_cast<double>(shape.stored())};
    work.math = DType::F32;
    return work;
  };
  switch (pass) {
    case Pass::Forward:
      return of(shape.columns, shape.stored() / shape.columns, x + stored, y);
    case Pass::BackwardInput:
      if (attribute(local.node, "leaf") != 0) return {};
      return of(shape.rows, shape.stored() / shape.rows, y + stored, x);
    case Pass::BackwardWeight: {
      Work work =
          of(1, shape.stored(), x + y + pattern, gradient_bytes(local, local.graph[weight.values]));
      work.m = shape.stored(), work.k = m;
      return work;
    }
  }
  return {};
}

std::vector<Saved> saved_by_sparse_matmul(const LocalNode& local) {
  return {saved_for_weights(local.node.inputs[0])};
}

}  // namespace

const Op& sparse_matmul() {
  static const Op op{"sparse_matmul",
                     "x times a weight [in, columns] with stored blocks alone, plus a bias; inputs "
                     "x, values [blocks, block], pattern; leaf: x needs no gradient",
                     infer_sparse_matmul, sparse_matmul_work, saved_by_sparse_matmul};
  return op;
}

}  // namespace trainyard
