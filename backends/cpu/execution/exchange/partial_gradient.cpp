#include "backends/cpu/execution/exchange/partial_gradient.h"

#include <algorithm>

namespace trainyard {
namespace {

bool any_dim(const Tensor& tensor, auto&& is) {
  return std::any_of(tensor.shape.begin(), tensor.shape.end(), is);
}

bool has_axis(const Tensor& tensor, Axis axis) {
  return any_dim(tensor, [&](const Dim& d) { return d.axis == axis; });
}

}  // namespace

PartialGradient partial_gradient(const Graph& graph, TensorId parameter, const Binding& binding) {
  const Tensor& tensor = graph[parameter];
  if (binding.tp == 1) return PartialGradient::None;
  // Experts are divided by another group of ranks.
  const auto divided = [&](const Dim& d) {
    return d.axis != Axis::Experts && parts(d, binding) > 1;
  };
  const bool is_divided = any_dim(tensor, divided);
  if (any_dim(tensor, [&](const Dim& d) {
        return d.axis == Axis::KvHeads && parts(d, binding) < binding.tp;
      }))
    return PartialGradient::OwnHeads;
  if (is_divided) return PartialGradient::None;
  const bool of_whole_experts = binding.whole_experts && has_axis(tensor, Axis::Experts);
  for (const Node& node : graph.nodes) {
    if (std::find(node.inputs.begin(), node.inputs.end(), parameter) == node.inputs.end()) continue;
    const Tensor& out = graph[node.outputs[0]];
    // Tensor ranks of whole experts are replicas of theirs.
    if (binding.sequence_parallel && !of_whole_experts && node.split == TensorSplit::None &&
        has_axis(out, Axis::SequenceRegion))
      return PartialGradient::OwnTokens;
    if (any_dim(out, [&](const Dim& d) {
          return d.axis == Axis::KvHeads || (d.axis == Axis::Heads && divided(d));
        }))
      return PartialGradient::OwnHeads;
  }
  return PartialGradient::None;
}

}  // namespace trainyard
