// This op multiplies each channel by a learnt number of its own. Vision towers have it behind the
// parts of a layer (Touvron et al., "Going deeper with image transformers", 2021).
#include "core/model/ops.h"
#include "core/model/ops/common.h"

namespace trainyard {
namespace {

std::vector<Tensor> infer_layer_scale(const Graph& graph, const Node& node) {
  expect_inputs(node, 2, 2);
  const Tensor& x = input(graph, node, 0);
  expect_vector(graph, node, 1, last(x).size);
  return one_output(x.shape);
}

Work layer_scale_work(const LocalNode& local, Pass pass) {
  const Bytes x = local.bytes(local.input(0)), weight = local.bytes(local.input(1));
  const auto elements = static_cast<double>(local.elements(local.input(0)));
  if (pass == Pass::BackwardWeight)
    return memory_work(2 * elements, x + x, gradient_bytes(local, local.input(1)));
  return memory_work(elements, x + weight, x);
}

std::vector<Saved> saved_by_layer_scale(const LocalNode& local) {
  return {saved_for_weights(local.node.inputs[0])};
}

}  // namespace

const Op& layer_scale() {
  static const Op op{"layer_scale", "x times a learnt number for each channel; inputs x, weight",
                     infer_layer_scale, layer_scale_work, saved_by_layer_scale};
  return op;
}

}  // namespace trainyard
