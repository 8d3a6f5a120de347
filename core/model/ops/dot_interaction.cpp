// This op returns the first vector, followed by the dot products of every pair of vectors (DLRM,
// Naumov et al. 2019).
#include "core/model/ops.h"
#include "core/model/ops/common.h"

namespace trainyard {
namespace {

std::int64_t pairs(const Node& node) {
  const auto n = static_cast<std::int64_t>(node.inputs.size());
  return n * (n - 1) / 2;
}

std::vector<Tensor> infer_dot_interaction(const Graph& graph, const Node& node) {
  expect_inputs(node, 2, 1000);
  const Shape& first = input(graph, node, 0).shape;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Shape& shape = input(graph, node, i).shape;
    if (shape.size() != 2 || shape != first)
      refuse(node,
             "expected vectors of one shape, found " + to_text(first) + " and " + to_text(shape));
  }
  return one_output({first[0], Dim{first[1].size + pairs(node), Axis::None, 0}});
}

Work dot_interaction_work(const LocalNode& local, Pass pass) {
  if (pass == Pass::BackwardWeight) return {};
  const auto vectors = static_cast<std::int64_t>(local.node.inputs.size());
  const Bytes in = local.bytes(local.input(0)) * vectors, out = local.bytes(local.output(0));
  const std::int64_t batch = local_size(local.input(0).shape[0], local.binding),
                     width = last(local.input(0)).size;
  if (pass == Pass::Forward)
    return product_work(local.precision, vectors, vectors, width, batch, in, out);
  return product_work(local.precision, vectors, width, vectors, 2 * batch, in + out, in);
}

std::vector<Saved> saved_by_dot_interaction(const LocalNode& local) {
  std::vector<Saved> list;
  for (TensorId id : local.node.inputs) list.push_back(saved_tensor(id));
  return list;
}

}  // namespace

const Op& dot_interaction() {
  static const Op op{"dot_interaction", "the first vector, then the dot product of every pair",
                     infer_dot_interaction, dot_interaction_work, saved_by_dot_interaction};
  return op;
}

}  // namespace trainyard
