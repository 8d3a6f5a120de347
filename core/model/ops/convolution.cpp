// This op is two-dimensional convolution of [batch, channels, height, width]; its cost is that of
// the matrix product to which it is lowered.
#include "core/model/ops.h"
#include "core/model/ops/common.h"

namespace trainyard {
namespace {

std::int64_t output_size(std::int64_t in, std::int64_t kernel, std::int64_t padding,
                         const Node& node) {
  return (in + 2 * padding - kernel) / attribute(node, "stride", 1) + 1;
}

std::vector<Tensor> infer_convolution(const Graph& graph, const Node& node) {
  expect_inputs(node, 2, 3);
  expect_rank(graph, node, 0, 4);
  expect_rank(graph, node, 1, 4);
  const Shape &x = input(graph, node, 0).shape, &weight = input(graph, node, 1).shape;
  const std::int64_t groups = attribute(node, "groups", 1), padding = attribute(node, "padding"),
                     above = row_padding(node);
  if (groups < 1 || attribute(node, "stride", 1) < 1 || padding < 0 || above < 0)
    refuse(node, "expected stride and groups of at least 1 and no negative padding");
  if (x[1].size != weight[1].size * groups || weight[0].size % groups != 0)
    refuse(node, "expected an input with " + std::to_string(weight[1].size * groups) +
                     " channels (weight " + to_text(weight) + ", " + std::to_string(groups) +
                     " groups), found " + to_text(x));
  if (x[2].size + 2 * above < weight[2].size || x[3].size + 2 * padding < weight[3].size)
    refuse(node, "expected an image no smaller than the kernel " + to_text(weight) + ", found " +
                     to_text(x));
  if (node.inputs.size() == 3) expect_vector(graph, node, 2, weight[0].size);
  return one_output(
      {x[0], weight[0],
       Dim{output_size(x[2].size, weight[2].size, above, node), rows_of_windows(x[2]), 0},
       Dim{output_size(x[3].size, weight[3].size, padding, node), Axis::None, 0}});
}

Work convolution_work(const LocalNode& local, Pass pass) {
  const Tensor& weight = local.input(1);
  const std::int64_t groups = attribute(local.node, "groups", 1);
  const Shape &w = weight.shape, &y = local.output(0).shape;
  const std::int64_t m = local_elements({y[0], y[2], y[3]}, local.binding);
  const std::int64_t n = w[0].size / groups, k = w[1].size * w[2].size * w[3].size;
  const Bytes x = local.bytes(local.input(0)), out = local.bytes(local.output(0)),
              wb = local.bytes(weight);
  switch (pass) {
    case Pass::Forward:
      return product_work(local.precision, m, n, k, groups, x + wb, out);
    case Pass::BackwardInput:
      if (attribute(local.node, "leaf") != 0) return {};
      return product_work(local.precision, m, k, n, groups, out + wb, x);
    case Pass::BackwardWeight:
      return product_work(local.precision, k, n, m, groups, x + out, gradient_bytes(local, weight));
  }
  return {};
}

std::vector<Saved> saved_by_convolution(const LocalNode& local) {
  return {saved_for_weights(local.node.inputs[0])};
}

}  // namespace

const Op& convolution() {
  static const Op op{"convolution",
                     "weight [out, in / groups, height, width] over images; attributes stride, "
                     "padding (row_padding above and below, where it is another), groups; leaf: "
                     "the image needs no gradient",
                     infer_convolution, convolution_work, saved_by_convolution};
  return op;
}

}  // namespace trainyard
