// This op is half the mean squared difference from a target, the loss of regression.
#include "core/model/ops.h"
#include "core/model/ops/common.h"

namespace trainyard {
namespace {

std::vector<Tensor> infer_squared_error(const Graph& graph, const Node& node) {
  expect_inputs(node, 2, 2);
  const Shape &x = input(graph, node, 0).shape, &target = input(graph, node, 1).shape;
  if (x != target)
    refuse(node, "expected a target of shape " + to_text(x) + ", found " + to_text(target));
  return one_output({}, TensorKind::Statistic);
}

Work squared_error_work(const LocalNode& local, Pass pass) {
  if (pass == Pass::BackwardWeight) return {};
  const Bytes x = local.bytes(local.input(0)), target = local.bytes(local.input(1));
  const auto elements = static_cast<double>(local.elements(local.input(0)));
  if (pass == Pass::Forward) return memory_work(3 * elements, x + target, {}, WorkKind::Loss);
  return memory_work(2 * elements, x + target, x, WorkKind::Loss);
}

std::vector<Saved> saved_by_squared_error(const LocalNode& local) {
  return {saved_tensor(local.node.inputs[0]), saved_tensor(local.node.inputs[1])};
}

}  // namespace

const Op& squared_error() {
  static const Op op{"squared_error", "half the mean squared difference from a target",
                     infer_squared_error, squared_error_work, saved_by_squared_error};
  return op;
}

}  // namespace trainyard
