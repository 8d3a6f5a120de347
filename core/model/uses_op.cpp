#include "core/model/uses_op.h"

#include <algorithm>

namespace trainyard {

bool uses_op(const Model& model, const Op& op) {
  return std::any_of(model.blocks.begin(), model.blocks.end(), [&](const Block& block) {
    return std::any_of(block.graph.nodes.begin(), block.graph.nodes.end(),
                       [&](const Node& node) { return node.op == &op; });
  });
}

}  // namespace trainyard
