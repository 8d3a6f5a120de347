// These ops are gated activations: f(gate) * up. Both halves may come from one fused product.
#include "core/model/ops.h"
#include "core/model/ops/common.h"

namespace trainyard {
namespace {

std::vector<Tensor> infer_gated(const Graph& graph, const Node& node) {
  expect_inputs(node, 1, 2);
  Shape shape = input(graph, node, 0).shape;
  if (node.inputs.size() == 2) {
    const Shape& up = input(graph, node, 1).shape;
    if (shape != up)
      refuse(node,
             "expected gate and up of one shape, found " + to_text(shape) + " and " + to_text(up));
  } else {
    if (shape.empty() || shape.back().size % 2 != 0)
      refuse(node, "expected gate and up side by side in an even last dimension, found " +
                       to_text(shape));
    shape.back().size /= 2;
    if (shape.back().units > 1) shape.back().units /= 2;
  }
  return one_output(std::move(shape));
}

template <int kFlops>
Work gated_work(const LocalNode& local, Pass pass) {
  const Bytes out = local.bytes(local.output(0)), both = out + out;
  const double flops = kFlops * static_cast<double>(local.elements(local.output(0)));
  switch (pass) {
    case Pass::Forward:
      return memory_work(flops, both, out);
    case Pass::BackwardInput:
      return memory_work(2 * flops, both + out, both);
    case Pass::BackwardWeight:
      return {};
  }
  return {};
}

std::vector<Saved> saved_by_gated(const LocalNode& local) {
  std::vector<Saved> list;
  for (TensorId id : local.node.inputs) list.push_back(saved_tensor(id));
  return list;
}

}  // namespace

const Op& gated_silu() {
  static const Op op{"gated_silu",
                     "silu(gate) * up; inputs gate and up, or one tensor that holds both",
                     infer_gated, gated_work<6>, saved_by_gated};
  return op;
}
const Op& gated_gelu() {
  static const Op op{"gated_gelu",
                     "gelu(gate) * up; inputs gate and up, or one tensor that holds both",
                     infer_gated, gated_work<9>, saved_by_gated};
  return op;
}

}  // namespace trainyard
