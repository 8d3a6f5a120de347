#include "core/model/never_negative.h"

#include <algorithm>

#include "core/model/ops.h"

namespace trainyard {
namespace {

bool made_by_relu(const Graph& graph, TensorId tensor) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return (node.op == &relu() || node.op == &squared_relu()) && !node.outputs.empty() &&
           node.outputs[0] == tensor;
  });
}

}  // namespace

bool never_negative(const Model& model, int layer, TensorId tensor) {
  const Block* before = nullptr;
  for (const Block& block : model.blocks) {
    if (layer >= block.count) {
      layer -= block.count;
      before = &block;
      continue;
    }
    if (layer > 0) before = &block;
    return made_by_relu(block.graph, tensor) || (before != nullptr && tensor == block.graph.input &&
                                                 made_by_relu(before->graph, before->graph.output));
  }
  return false;
}

}  // namespace trainyard
