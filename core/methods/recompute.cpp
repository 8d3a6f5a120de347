// Recomputation: what forward would keep is thrown away and computed again just before backward
// needs it.
//
//   op          every second product's output and attention's are kept, the rest is done again
//               (torchtitan's selective checkpointing by operator)
//   none        everything that backward reads is kept
//   selective   the attention core (softmax, its mask and dropout, 5as^2b) is done again: much
//   memory for little work full        only each layer's input is kept; the layer's whole forward
//   runs again, its collectives too blocks=n    full for the first n layers of every stage, none
//   for the others
//
// Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016; Korthikanti et al., 2022
// (selective).
#include <algorithm>

#include "core/methods/catalogue.h"

namespace trainyard {
namespace {

constexpr std::string_view kName = "recompute";

BodyOp again(BodyOp op, Pass pass) {
  op.recomputed = true;
  op.pass = pass;
  op.pass_name = kName;
  return op;
}

// Drops what `kept` does not hold on to; the layer's input is kept in any case.
template <class Kept>
void drop(Body& body, const Graph& graph, Kept kept) {
  bool keeps_input = false;
  for (SavedTensor& saved : body.saved) {
    if (saved.producer.valid())
      saved.recomputed = !kept(saved.producer);
    else if (saved.tensor == graph.input)
      keeps_input = true;
  }
  if (!keeps_input && !body.saved.empty()) {
    // Nothing of the layer needed its input until now; the second forward does.
    SavedTensor input = body.saved.front();
    input.name = "input";
    input.producer = NodeId{};
    input.recomputed = false;
    input.attention_core = false;
    input.bytes = body.input;
    input.tensor = graph.input;
    input.fact = {};
    body.saved.push_back(std::move(input));
  }
}

void recompute_layer(Body& body, const Graph& graph) {
  drop(body, graph, [](NodeId) { return false; });
  std::vector<BodyOp> backward;
  for (const BodyOp& op : body.forward) backward.push_back(again(op, Pass::BackwardInput));
  backward.insert(backward.end(), body.backward.begin(), body.backward.end());
  body.backward = std::move(backward);
}

// Of each node: whether its output is kept under policy op.
std::vector<bool> kept_by_op(const Body& body, const Graph& graph) {
  std::vector<bool> kept(graph.nodes.size());
  int products = 0;
  for (const BodyOp& op : body.forward) {
    if (op.communication) continue;
    if (op.work.kind == WorkKind::Attention) kept[op.node.value] = true;
    if (op.work.kind == WorkKind::Product) kept[op.node.value] = products++ % 2 == 0;
  }
  return kept;
}

// A kept output that no backward reads is there for the ops that run again. A compiler sees what
// only the layer's output is made of, and keeps none of it.
void keep_outputs(Body& body, const Graph& graph, const Layout& layout,
                  const std::vector<bool>& kept, bool compiled) {
  const auto ends_in_output = [&](NodeId reader) {
    return reader.valid() && graph[reader].outputs[0] == graph.output;
  };
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    const TensorId out = kept[n] ? graph.nodes[n].outputs[0] : TensorId{};
    if (!out.valid() || out == graph.output ||
        std::any_of(body.saved.begin(), body.saved.end(),
                    [&](const SavedTensor& s) { return s.tensor == out; }))
      continue;
    NodeId reader;
    for (std::uint32_t r = static_cast<std::uint32_t>(graph.nodes.size()); r-- > n + 1;)
      if (const std::vector<TensorId>& in = graph.nodes[r].inputs;
          std::find(in.begin(), in.end(), out) != in.end())
        reader = NodeId{r};
    if (compiled && ends_in_output(reader)) continue;
    SavedTensor saved;
    saved.name = graph[out].name;
    saved.producer = NodeId{n};
    saved.last_user = reader.valid() ? reader : NodeId{n};
    saved.bytes = local_bytes(graph[out], layout.binding, layout.precision);
    saved.tensor = out;
    body.saved.push_back(std::move(saved));
  }
}

void recompute_ops(Body& body, const Graph& graph, const Layout& layout, bool compiled) {
  const std::vector<bool> kept = kept_by_op(body, graph);
  drop(body, graph, [&](NodeId node) { return bool{kept[node.value]}; });
  keep_outputs(body, graph, layout, kept, compiled);
  std::vector<BodyOp> backward;
  for (const BodyOp& op : body.forward) {
    // What follows a kept product (its reduction over tensor ranks) is done on what is kept.
    const bool reduces = op.communication && op.tensor.valid() && kept[op.node.value] &&
                         op.collective != CollectiveKind::AllGather;
    if (reduces || (!op.communication && kept[op.node.value])) continue;
    backward.push_back(again(op, Pass::BackwardInput));
  }
  backward.insert(backward.end(), body.backward.begin(), body.backward.end());
  body.backward = std::move(backward);
}

// Only the ops that produce what is dropped run again, each just before the backward that reads it.
void recompute_attention_core(Body& body) {
  std::vector<BodyOp> backward;
  NodeId done;
  for (const BodyOp& op : body.backward) {
    const bool first_of_node = !op.communication && op.node != done;
    if (first_of_node) {
      done = op.node;
      for (SavedTensor& saved : body.saved) {
        if (!saved.attention_core || saved.recomputed || saved.producer != op.node) continue;
        for (const BodyOp& forward : body.forward)
          if (forward.node == op.node && !forward.communication &&
              (backward.empty() || backward.back().node != op.node || !backward.back().recomputed))
            backward.push_back(again(forward, op.pass));
      }
      for (SavedTensor& saved : body.saved)
        if (saved.attention_core && saved.producer == op.node) saved.recomputed = true;
    }
    backward.push_back(op);
  }
  body.backward = std::move(backward);
}

void rewrite(Body& body, const Layout& layout, const Scenario& scenario, const Params& params) {
  const Block& block = scenario.model.blocks[static_cast<std::size_t>(body.block)];
  if (!block.layer) return;
  const std::string& policy = params.text("policy");
  if (policy == "full") recompute_layer(body, block.graph);
  if (policy == "op")
    recompute_ops(
        body, block.graph, layout,
        settle(scenario.plan.software, scenario.cluster.device).kernels == KernelClass::Compiled);
  if (policy == "selective") recompute_attention_core(body);
}

// Of the fullest stage.
std::int64_t most_layers(const Scenario& scenario) {
  const std::vector<int>& split = scenario.plan.split.layers;
  if (!split.empty()) return *std::max_element(split.begin(), split.end());
  const std::int64_t stages = std::int64_t{scenario.plan.mesh.pp} * scenario.plan.virtual_stages;
  return (layer_count(scenario.model) + stages - 1) / stages;
}

Diagnostics check_scenario(const Scenario& scenario, const Params& params) {
  const std::string& policy = params.text("policy");
  const Place place{"plan#/choices/recompute"};
  if (policy == "selective" && scenario.plan.flash_attention)
    return {{Diagnostic::Severity::Warning,
             "recompute=selective drops the attention scores, which fused attention never keeps: "
             "nothing is saved",
             place, "recompute=none"}};
  if (policy != "blocks") return {};
  const std::int64_t most = most_layers(scenario);
  if (params.integer("blocks") > most)
    return {{Diagnostic::Severity::Error,
             "recompute=blocks=" + std::to_string(params.integer("blocks")) +
                 " asks for more layers than a stage has (" + std::to_string(most) + ")",
             place, "recompute=full"}};
  return {};
}

}  // namespace

Method recompute() {
  return {
      .name = kName,
      .axis = MethodAxis::Memory,
      .summary = "Throws away what forward keeps and computes it again before backward.",
      .paper = {"Training Deep Nets with Sublinear Memory Cost", "Chen et al.", "arXiv 1604.06174",
                2016},
      .card = {.gains = "full: a layer keeps only its input (2sbh of 34sbh and more); selective: "
                        "drops the 5as^2b of unfused attention",
               .costs =
                   "full: one more forward, up to a third more time; selective: 1 to 4 % more FLOP",
               .legal_when = "always; selective gains nothing with fused attention"},
      .file = "core/methods/recompute.cpp",
      .params = {{.name = "policy",
                  .fallback = std::string("none"),
                  .doc =
                      "none, selective, op (all but attention and every second product), full, or "
                      "blocks (full for the first layers of every stage)",
                  .values = {"none", "selective", "op", "full", "blocks"}},
                 {.name = "blocks",
                  .fallback = std::int64_t{0},
                  .doc = "layers of each stage that policy blocks recomputes",
                  .low = 0,
                  .high = 1e6}},
      .check = check_scenario,
      .rewrite = rewrite,
  };
}

}  // namespace trainyard
