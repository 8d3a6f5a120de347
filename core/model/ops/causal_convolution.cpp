// This op is the short convolution before a state space or a delta rule: each channel by itself
// over the last few tokens, then silu. The kernels of both fuse the two.
#include "core/model/ops.h"
#include "core/model/ops/common.h"

namespace trainyard {
namespace {

std::vector<Tensor> infer_causal_convolution(const Graph& graph, const Node& node) {
  expect_inputs(node, 2, 3);
  expect_rank(graph, node, 0, 3);
  expect_rank(graph, node, 1, 2);
  const Tensor& x = input(graph, node, 0);
  const Shape& weight = input(graph, node, 1).shape;
  if (weight[0].size != last(x).size)
    refuse(node, "expected a weight [" + std::to_string(last(x).size) + ", taps], found " +
                     to_text(weight));
  if (node.inputs.size() == 3) expect_vector(graph, node, 2, last(x).size);
  return one_output(x.shape);
}

Work causal_convolution_work(const LocalNode& local, Pass pass) {
  const Bytes x = local.bytes(local.input(0)), weight = local.bytes(local.input(1));
  const double taps = static_cast<double>(local.input(1).shape[1].size),
               elements = static_cast<double>(local.elements(local.input(0)));
  switch (pass) {
    case Pass::Forward:
      return memory_work((2 * taps + 5) * elements, x + weight, x);
    case Pass::BackwardInput:
      return memory_work((4 * taps + 8) * elements, x + x + weight, x);
    case Pass::BackwardWeight:
      return memory_work((4 * taps + 8) * elements, x + x, gradient_bytes(local, local.input(1)));
  }
  return {};
}

// Backward convolves the input again, because silu's slope needs the result.
std::vector<Saved> saved_by_causal_convolution(const LocalNode& local) {
  return {saved_tensor(local.node.inputs[0], true)};
}

}  // namespace

const Op& causal_convolution() {
  static const Op op{"causal_convolution",
                     "silu of each channel convolved over the last tokens; inputs x, weight "
                     "[channels, taps] and a bias",
                     infer_causal_convolution, causal_convolution_work,
                     saved_by_causal_convolution};
  return op;
}

}  // namespace trainyard
