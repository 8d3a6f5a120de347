#include "backends/reference/layer_plan.h"

#include <algorithm>
#include <string>

namespace trainyard {
namespace {

bool has(const std::vector<BodyOp>& ops, std::size_t node, Pass pass) {
  return std::any_of(ops.begin(), ops.end(), [&](const BodyOp& op) {
    return !op.communication && !op.recomputed && op.node.value == node && op.pass == pass;
  });
}

// The node whose op of that pass comes last.
NodeId last(const std::vector<BodyOp>& ops, Pass pass) {
  NodeId found;
  for (const BodyOp& op : ops)
    if (!op.communication && !op.recomputed && op.pass == pass) found = op.node;
  return found;
}

void keep(LayerPlan& plan, const SavedTensor& saved) {
  const auto keep_until =
      saved.for_weight ? LayerPlan::Keep::UntilWeight : LayerPlan::Keep::UntilInput;
  if (saved.tensor.valid()) {
    (saved.recomputed ? plan.rebuilt : plan.tensors)[saved.tensor.value] = keep_until;
    return;
  }
  for (LayerPlan::Fact& fact : plan.facts[saved.producer.value])
    if (fact.what == saved.fact) (saved.recomputed ? fact.rebuilt : fact.keep) = keep_until;
}

}  // namespace

LayerPlan layer_plan(const Workload& w, const Body& body) {
  LayerPlan plan;
  const Graph& graph = w.scenario.model.blocks[static_cast<std::size_t>(body.block)].graph;
  plan.graph = &graph;
  plan.block = body.block;
  plan.tensors.assign(graph.tensors.size(), LayerPlan::Keep::Never);
  plan.rebuilt = plan.tensors;
  plan.producer.assign(graph.tensors.size(), -1);
  plan.view_users.resize(graph.tensors.size());
  plan.gradient_parts.assign(graph.tensors.size(), 0);
  plan.facts.resize(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    plan.view.push_back(!has(body.forward, n, Pass::Forward));
    plan.gives_gradient.push_back(plan.view[n] || has(body.backward, n, Pass::BackwardInput));
    for (TensorId out : node.outputs) plan.producer[out.value] = static_cast<std::int32_t>(n);
    for (TensorId in : node.inputs) {
      if (plan.view[n]) plan.view_users[in.value].push_back(static_cast<std::uint32_t>(n));
      if (plan.gives_gradient[n]) ++plan.gradient_parts[in.value];
    }
    for (const Saved& s : node.op->saved(
             {graph, node, w.layout.binding, w.layout.precision, w.layout.flash_attention}))
      if (!s.tensor.valid()) plan.facts[n].push_back({s.what});
  }
  for (const SavedTensor& saved : body.saved) keep(plan, saved);
  plan.last_forward = last(body.forward, Pass::Forward);
  plan.last_input = last(body.backward, Pass::BackwardInput);
  plan.last_weight = last(body.backward, Pass::BackwardWeight);
  return plan;
}

}  // namespace trainyard
