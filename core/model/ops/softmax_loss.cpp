// This op is mean cross entropy. The softmax is kept in 4 bytes per element in any precision, as in
// Megatron-LM.
#include "core/model/ops.h"
#include "core/model/ops/common.h"

namespace trainyard {
namespace {

std::vector<Tensor> infer_softmax_loss(const Graph& graph, const Node& node) {
  expect_inputs(node, 2, 2);
  const Tensor &logits = input(graph, node, 0), &labels = input(graph, node, 1);
  if (labels.kind != TensorKind::Index || logits.shape.size() != labels.shape.size() + 1)
    refuse(node, "expected one label index for each row of logits " + to_text(logits.shape) +
                     ", found " + to_text(labels.shape));
  return one_output({}, TensorKind::Statistic);
}

Bytes softmax(const LocalNode& local) { return Bytes{4 * local.elements(local.input(0))}; }

Work softmax_loss_work(const LocalNode& local, Pass pass) {
  const Bytes logits = local.bytes(local.input(0));
  const auto elements = static_cast<double>(local.elements(local.input(0)));
  switch (pass) {
    case Pass::Forward:
      return memory_work(5 * elements, logits, softmax(local), WorkKind::Loss);
    case Pass::BackwardInput:
      return memory_work(elements, softmax(local), logits, WorkKind::Loss);
    case Pass::BackwardWeight:
      return {};
  }
  return {};
}

std::vector<Saved> saved_by_softmax_loss(const LocalNode& local) {
  return {saved_bytes("softmax", softmax(local)), saved_tensor(local.node.inputs[1])};
}

}  // namespace

const Op& softmax_loss() {
  static const Op op{"softmax_loss",
                     "mean cross entropy of logits and labels (of one logit: binary cross entropy)",
                     infer_softmax_loss, softmax_loss_work, saved_by_softmax_loss};
  return op;
}

}  // namespace trainyard
