// Finds the nodes that read the tokens of texts, whose shares a rule judges.
#pragma once

#include "core/model/graph.h"
#include "core/model/ops.h"

namespace trainyard {

/// Returns whether a node looks up tokens, and neither their positions nor which of two texts they
/// belong to.
inline bool reads_tokens(const Graph& graph, const Node& node) {
  if (node.op != &embedding()) return false;
  const std::string& ids = graph[node.inputs[0]].name;
  return ids != "position_ids" && ids != "token_type_ids";
}

}  // namespace trainyard
