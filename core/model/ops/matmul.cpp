// This op is x times weight [in, out], plus a bias. A Column split gathers x into the tensor
// region, a Row split leaves the region.
#include "core/model/ops.h"
#include "core/model/ops/common.h"

namespace trainyard {
namespace {

std::vector<Tensor> infer_matmul(const Graph& graph, const Node& node) {
  expect_inputs(node, 2, 3);
  expect_rank(graph, node, 1, 2);
  const Tensor& x = input(graph, node, 0);
  const Tensor& weight = input(graph, node, 1);
  if (x.shape.empty() || last(x).size != weight.shape[0].size)
    refuse(node, "expected an input whose last dimension is " +
                     std::to_string(weight.shape[0].size) + " (weight " + to_text(weight.shape) +
                     "), found " + to_text(x.shape));
  if (node.inputs.size() == 3) expect_vector(graph, node, 2, weight.shape[1].size);
  Shape shape = rows_of_product(node, x.shape);
  shape.push_back(weight.shape[1]);
  return one_output(std::move(shape));
}

Work matmul_work(const LocalNode& local, Pass pass) {
  const Tensor& weight = local.input(1);
  // Inside the tensor region sequences are whole: after the gather of a Column, before the scatter
  // of a Row.
  const bool row = local.node.split == TensorSplit::Row;
  const std::int64_t m = rows(row ? local.input(0) : local.output(0), local.binding);
  const std::int64_t k = local_size(weight.shape[0], local.binding);
  const std::int64_t n = local_size(weight.shape[1], local.binding);
  const Bytes element{bytes_of(local.precision.activation)};
  const Bytes x = element * product({m, k}), y = element * product({m, n}), w = local.bytes(weight);
  switch (pass) {
    case Pass::Forward:
      return product_work(local.precision, m, n, k, 1, x + w, y);
    case Pass::BackwardInput:
      if (attribute(local.node, "leaf") != 0) return {};
      return product_work(local.precision, m, k, n, 1, y + w, x);
    case Pass::BackwardWeight:
      return product_work(local.precision, k, n, m, 1, x + y, gradient_bytes(local, weight));
  }
  return {};
}

std::vector<Saved> saved_by_matmul(const LocalNode& local) {
  return {saved_for_weights(local.node.inputs[0])};
}

}  // namespace

const Op& matmul() {
  static const Op op{"matmul", "x times weight [in, out], plus a bias; leaf: x needs no gradient",
                     infer_matmul, matmul_work, saved_by_matmul};
  return op;
}

}  // namespace trainyard
