// This op is a gate in [0, 1] before what a part of a layer gives: one number for each token (the
// shared experts of Qwen 2), or one for each element (the attention of Qwen3-Next).
#include "core/model/ops.h"
#include "core/model/ops/common.h"

namespace trainyard {
namespace {

std::vector<Tensor> infer_sigmoid_gate(const Graph& graph, const Node& node) {
  expect_inputs(node, 2, 2);
  const Shape &gate = input(graph, node, 0).shape, &x = input(graph, node, 1).shape;
  bool fits = !x.empty() && gate.size() == x.size() &&
              (gate.back().size == 1 || gate.back().size == x.back().size);
  for (std::size_t i = 0; fits && i + 1 < x.size(); ++i) fits = gate[i].size == x[i].size;
  if (!fits)
    refuse(node, "expected a gate for each row or each element of " + to_text(x) + ", found " +
                     to_text(gate));
  return one_output(x);
}

Work sigmoid_gate_work(const LocalNode& local, Pass pass) {
  const Bytes gate = local.bytes(local.input(0)), x = local.bytes(local.input(1));
  const auto elements = static_cast<double>(local.elements(local.input(1)));
  switch (pass) {
    case Pass::Forward:
      return memory_work(5 * elements, gate + x, x);
    case Pass::BackwardInput:
      return memory_work(10 * elements, gate + x + x, gate + x);
    case Pass::BackwardWeight:
      return {};
  }
  return {};
}

std::vector<Saved> saved_by_sigmoid_gate(const LocalNode& local) {
  return {saved_tensor(local.node.inputs[0]), saved_tensor(local.node.inputs[1])};
}

}  // namespace

const Op& sigmoid_gate() {
  static const Op op{"sigmoid_gate",
                     "sigmoid(gate) * x; inputs gate and x, where a gate of width 1 is for the row",
                     infer_sigmoid_gate, sigmoid_gate_work, saved_by_sigmoid_gate};
  return op;
}

}  // namespace trainyard
