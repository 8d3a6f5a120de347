#include "core/model/merged_nodes.h"

#include <algorithm>

#include "core/model/ops.h"

namespace trainyard {
namespace {

const Tensor& weight_of(const Graph& graph, const Node& node) { return graph[node.inputs[1]]; }

bool has_own_weights(const Graph& graph, const Node& node) {
  return std::all_of(node.inputs.begin() + 1, node.inputs.end(), [&](TensorId id) {
    return graph[id].kind == TensorKind::Parameter && graph[id].tied_to.empty();
  });
}

// The size of a kernel beyond its padding, by which the output is smaller than the image.
std::int64_t beyond_padding(const Graph& graph, const Node& node, std::size_t dim) {
  return weight_of(graph, node).shape[dim].size - 2 * attribute(node, "padding");
}

bool alike_convolutions(const Graph& graph, const Node& a, const Node& b) {
  const auto same = [&](const char* name, std::int64_t usual) {
    return attribute(a, name, usual) == attribute(b, name, usual);
  };
  return same("stride", 1) && same("leaf", 0) && attribute(a, "groups", 1) == 1 &&
         attribute(b, "groups", 1) == 1 &&
         beyond_padding(graph, a, 2) == beyond_padding(graph, b, 2) &&
         beyond_padding(graph, a, 3) == beyond_padding(graph, b, 3);
}

}  // namespace

bool may_merge(const Graph& graph, const Node& a, const Node& b) {
  if (a.op != b.op || (a.op != &matmul() && a.op != &convolution())) return false;
  if (a.inputs.size() != b.inputs.size() || a.inputs[0] != b.inputs[0] || a.split != b.split ||
      !has_own_weights(graph, a) || !has_own_weights(graph, b))
    return false;
  return a.op == &matmul() ? a.attributes == b.attributes : alike_convolutions(graph, a, b);
}

Graph merged_nodes(const Graph& graph, const std::vector<const Node*>& nodes) {
  const Node& first = *nodes.front();
  Shape weight = weight_of(graph, first).shape;
  Dim& out = weight[first.op == &matmul() ? 1 : 0];
  out = {0, Axis::None, 0};
  std::map<std::string, std::int64_t> attributes = first.attributes;
  for (const Node* node : nodes) {
    const Shape& own = weight_of(graph, *node).shape;
    out.size += own[first.op == &matmul() ? 1 : 0].size;
    if (first.op == &matmul()) continue;
    weight[2].size = std::max(weight[2].size, own[2].size);
    weight[3].size = std::max(weight[3].size, own[3].size);
    attributes["padding"] = std::max(attributes["padding"], attribute(*node, "padding"));
  }
  Graph made;
  std::vector<TensorId> inputs = {made.input = made.add(graph[first.inputs[0]])};
  inputs.push_back(made.add(Tensor{"weight", weight, TensorKind::Parameter, {}}));
  if (first.inputs.size() > 2)
    inputs.push_back(made.add(Tensor{"bias", {out}, TensorKind::Parameter, {}}));
  std::string name = first.name;
  for (std::size_t i = 1; i < nodes.size(); ++i) name += " + " + nodes[i]->name;
  made.output = made.add(std::move(name), *first.op, std::move(inputs), std::move(attributes));
  return made;
}

}  // namespace trainyard
