// This op is convolution with a weight [out, channels, height, width] of which only stored blocks
// are not zero (core/model/sparse_pattern.h). Its rows are filters, along which blocks lie.
//
// It is computed as no library has it faster: the weight is decoded to a dense one that is gone
// when the kernel ends, and convolved. Work is that of the dense convolution, and the bytes that
// decode the weight or gather its gradient at the stored places. Sparse storage saves memory here,
// and no FLOPs.
#include "core/model/ops.h"
#include "core/model/ops/common.h"
#include "core/model/ops/expect_sparse.h"

namespace trainyard {
namespace {

std::vector<Tensor> infer_sparse_convolution(const Graph& graph, const Node& node) {
  const SparseShape shape = expect_sparse_weight(graph, node);
  const std::int64_t height = attribute(node, "kernel_rows", 1),
                     width = attribute(node, "kernel_columns", 1);
  if (height < 1 || width < 1 || shape.columns % product({height, width}) != 0)
    refuse(node, "expected columns that divide into kernels of " + std::to_string(height) + " x " +
                     std::to_string(width) + ", found columns=" + std::to_string(shape.columns));
  if (attribute(node, "groups", 1) != 1) refuse(node, "expected no groups");
  const Graph dense = dense_graph(graph, node);
  return convolution().infer(dense, dense.nodes[0]);
}

Work sparse_convolution_work(const LocalNode& local, Pass pass) {
  const Graph dense = dense_graph(local.graph, local.node);
  const Node& node = dense.nodes[0];
  Work work = convolution().work({dense, node, local.binding, local.precision}, pass);
  if (work.kind != WorkKind::Product) return work;  // of a leaf
  const Tensor &weight = dense[node.inputs[1]], &values = local.input(1);
  work.read += local.bytes(local.input(2));
  if (pass == Pass::BackwardWeight) {
    work.read += gradient_bytes(local, values);
    work.written += gradient_bytes(local, values);
  } else {
    work.read += local.bytes(values);
    work.written += local.bytes(weight);
  }
  return work;
}

std::vector<Saved> saved_by_sparse_convolution(const LocalNode& local) {
  return {saved_for_weights(local.node.inputs[0])};
}

}  // namespace

const Op& sparse_convolution() {
  static const Op op{"sparse_convolution",
                     "a convolution whose weight [out, channels x height x width] has stored "
                     "blocks alone; inputs x, values [blocks, block], pattern; attributes columns, "
                     "kernel_rows, kernel_columns, stride, padding, row_padding; leaf: the image "
                     "needs no gradient",
                     infer_sparse_convolution, sparse_convolution_work,
                     saved_by_sparse_convolution};
  return op;
}

}  // namespace trainyard
