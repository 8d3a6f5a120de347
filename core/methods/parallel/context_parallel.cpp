// Context parallel by ring attention divides the sequence over the ranks. Keys and values travel
// round a ring while each rank attends to the part that has just arrived. Backward sends them round
// again, together with their gradients.
//
//  rank 0   attend(kv0)  attend(kv3)  attend(kv2)  attend(kv1)    each kv moves one rank at a time
//
// Liu et al., "Ring Attention with Blockwise Transformers for Near-Infinite Context", ICLR 2024.
#include "core/methods/catalogue.h"
#include "core/methods/parallel/communication.h"
#include "core/methods/parallel/sequence_length.h"

namespace trainyard {
namespace {

constexpr std::string_view kContextParallelName = "context-parallel";

void rewrite_context_parallel(Body& body, const Layout& layout, const Scenario& scenario,
                              const Params&) {
  if (layout.binding.cp == 1) return;
  const Graph& graph = scenario.model.blocks[static_cast<std::size_t>(body.block)].graph;
  const auto is_attention = [&](const BodyOp& op) {
    return !op.communication && op.node.valid() && graph[op.node].op->name == "attention";
  };
  const auto keys_and_values = [&](NodeId id) {
    const Node& node = graph[id];
    const Bytes local = local_bytes(graph[node.inputs[1]], layout.binding, layout.precision) +
                        local_bytes(graph[node.inputs[2]], layout.binding, layout.precision);
    return local * layout.binding.cp;
  };
  std::vector<BodyOp> forward, backward;
  for (const BodyOp& op : body.forward) {
    if (is_attention(op))
      forward.push_back(collective_op(kContextParallelName, "pass keys and values", op.node,
                                      Pass::Forward, CollectiveKind::AllGather, Group::Context,
                                      keys_and_values(op.node)));
    forward.push_back(op);
  }
  for (const BodyOp& op : body.backward) {
    if (!is_attention(op)) {
      backward.push_back(op);
      continue;
    }
    const Bytes bytes = keys_and_values(op.node);
    backward.push_back(collective_op(kContextParallelName, "pass keys and values", op.node, op.pass,
                                     CollectiveKind::AllGather, Group::Context, bytes));
    backward.push_back(op);
    backward.push_back(collective_op(kContextParallelName, "pass their gradients", op.node, op.pass,
                                     CollectiveKind::ReduceScatter, Group::Context, bytes));
  }
  body.forward = std::move(forward);
  body.backward = std::move(backward);
}

Diagnostics check_context_parallel(const Scenario& scenario, const Params&) {
  const int cp = scenario.plan.mesh.cp;
  if (cp == 1) return {};
  const auto refuse = [](std::string sentence, std::string fix) {
    return Diagnostics{
        {Diagnostic::Severity::Error, std::move(sentence), {"plan#/mesh/cp"}, std::move(fix)}};
  };
  const SequenceLength sequence = sequence_length(scenario);
  const std::string degree = "cp=" + std::to_string(cp);
  if (sequence.tokens <= 1)
    return refuse(degree + " divides a sequence, and " + scenario.model.name + " has none", "cp=1");
  if (is_recurrent(scenario.model))
    return refuse(
        degree + " divides a sequence, and " + scenario.model.name + " reads its own step by step",
        "cp=1");
  // With causal attention, rank i has the pieces i and 2 cp - 1 - i, so that all ranks do the same
  // work.
  const std::int64_t pieces = 2 * std::int64_t{cp};
  if (sequence.tokens % pieces == 0) return {};
  return refuse(
      degree + " cuts the sequence into " + std::to_string(pieces) + " pieces, and " +
          std::to_string(sequence.tokens) + " tokens leave a remainder of " +
          std::to_string(sequence.tokens % pieces),
      sequence.open ? "seq=" + std::to_string((sequence.tokens / pieces + 1) * pieces) : "cp=1");
}

}  // namespace

Method context_parallel() {
  return {
      .name = kContextParallelName,
      .axis = MethodAxis::Sharding,
      .summary = "Divides the sequence over cp ranks and passes keys and values round a ring.",
      .paper = {"Ring Attention with Blockwise Transformers for Near-Infinite Context",
                "Liu et al.", "ICLR", 2024},
      .card = {.gains = "activations divided by cp: sequences that no single device could hold",
               .costs = "keys and values of the whole sequence pass every rank, hidden while "
                        "attention is longer",
               .legal_when = "the sequence divides into 2 cp pieces"},
      .file = "core/methods/parallel/context_parallel.cpp",
      .check = check_context_parallel,
      .arrange = [](Layout& layout, const Scenario& s,
                    const Params&) { layout.binding.cp = s.plan.mesh.cp; },
      .rewrite = rewrite_context_parallel,
  };
}

}  // namespace trainyard
