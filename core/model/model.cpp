#include "core/model/model.h"

#include <algorithm>
#include <limits>

#include "core/base/saturating.h"
#include "core/model/op.h"

namespace trainyard {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

bool counts(const Tensor& tensor) {
  return tensor.kind == TensorKind::Parameter && tensor.tied_to.empty();
}

// Returns how many elements of a parameter one token (or sample) uses.
std::int64_t active_elements(const Graph& graph, TensorId id, std::int64_t all) {
  for (const Node& node : graph.nodes) {
    if (std::find(node.inputs.begin(), node.inputs.end(), id) == node.inputs.end()) continue;
    const Shape& shape = graph[id].shape;
    const std::int64_t top_k = attribute(node, "top_k"), lookups = attribute(node, "lookups");
    if (top_k > 0 && !shape.empty() && shape[0].axis == Axis::Experts)
      return std::min(all, saturating_product(all / shape[0].size, top_k));
    if (lookups > 0 && shape.size() == 2)
      return std::min(all, saturating_product(lookups, shape[1].size));
  }
  return all;
}

template <class Elements>
std::int64_t sum(const Model& model, Elements elements) {
  std::int64_t total = 0;
  for (const Block& block : model.blocks) {
    std::int64_t once = 0;
    for (std::size_t i = 0; i < block.graph.tensors.size(); ++i)
      once = saturating_sum(once, elements(block.graph, TensorId{static_cast<std::uint32_t>(i)}));
    total = saturating_sum(total, saturating_product(once, block.count));
  }
  return total;
}

std::int64_t trained_elements(const Graph& graph, TensorId id) {
  return counts(graph[id]) ? local_elements(graph[id].shape, Binding{}) : 0;
}

}  // namespace

std::int64_t parameters(const Model& model) { return sum(model, trained_elements); }

std::int64_t active_parameters(const Model& model) {
  return sum(model, [](const Graph& graph, TensorId id) {
    return active_elements(graph, id, trained_elements(graph, id));
  });
}

std::int64_t parameters(const Block& block) {
  std::int64_t total = 0;
  for (const Tensor& tensor : block.graph.tensors)
    if (counts(tensor)) total = saturating_sum(total, local_elements(tensor.shape, Binding{}));
  return total;
}

int layer_count(const Model& model) {
  int layers = 0;
  for (const Block& block : model.blocks)
    if (block.layer) layers += block.count;
  return layers;
}

}  // namespace trainyard
