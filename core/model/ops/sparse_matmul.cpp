// This op is x times a weight [in, out] of which only stored blocks are not zero, plus a bias
// (core/model/sparse_pattern.h). The gradient of the weight is made at the stored places alone.
//
// Work is priced by what is stored: two FLOPs a stored weight and row, and the bytes of values and
// pattern. Products are computed in 4-byte floats, whatever format dense ones have, because the
// matrix units of a device have no operands of that form.
#include <algorithm>

#include "core/model/ops.h"
#include "core/model/ops/common.h"
#include "core/model/sparse_pattern.h"

namespace trainyard {
namespace {

SparseWeight weight_of(const LocalNode& local) {
  return *sparse_weight_of(local.graph, local.node);
}

std::vector<Tensor> infer_sparse_matmul(const Graph& graph, const Node& node) {
  expect_inputs(node, 3, 4);
  expect_rank(graph, node, 1, 2);
  if (input(graph, node, 2).shape.size() != 2) expect_rank(graph, node, 2, 1);
  const Tensor& x = input(graph, node, 0);
  const SparseShape shape = sparse_weight_of(graph, node)->shape;
  if (shape.digits < 1 || shape.digits > kMostDigits)
    refuse(node, "expected 1 to " + std::to_string(kMostDigits) +
                     " digits of each number of the pattern, found " +
                     std::to_string(shape.digits));
  if (shape.columns < 1 || shape.block < 1 || shape.columns % shape.block != 0)
    refuse(node, "expected columns that divide into blocks of " + std::to_string(shape.block) +
                     ", found columns=" + std::to_string(shape.columns));
  if (x.shape.empty() || last(x).size != shape.rows)
    refuse(node, "expected an input whose last dimension is " + std::to_string(shape.rows) +
                     " (pattern of so many rows), found " + to_text(x.shape));
  if (shape.rows < 1 || shape.blocks < 1 || shape.blocks > shape.all_blocks())
    refuse(node, "expected 1 to " + std::to_string(shape.all_blocks()) + " stored blocks, found " +
                     std::to_string(shape.blocks));
  if (shape.row_blocks() >= kMostOfPattern)
    refuse(node, "expected fewer than " + std::to_string(kMostOfPattern) +
                     " blocks in a row, found " + std::to_string(shape.row_blocks()));
  if (node.inputs.size() == 4) expect_vector(graph, node, 3, shape.columns);
  Shape made = rows_of_product(node, x.shape);
  made.push_back({shape.columns, static_cast<Axis>(attribute(node, "column_axis")),
                  attribute(node, "column_units")});
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
