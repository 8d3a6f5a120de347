// Recomputation frees what forward would keep and computes it again just before backward needs it.
// Each layer has a policy; layer_policy.h describes the text that says which layer has which
// policy.
//
//   none        everything that backward reads is kept
//   selective   the attention core (softmax, its mask and dropout, 5as^2b) is done again: much
//               memory for little work
//   op          every second product's output and attention's are kept, the rest is done again
//               (torchtitan's selective checkpointing by operator)
//   full        only each layer's input is kept; the layer's whole forward runs again, its
//               collectives too
//   keep=a+b    what these nodes make is kept; what backward reads beside it is done again, and
//               nothing that it does not need
//   blocks=n    full for the first n layers of every stage, none for the others
//
// Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016; Korthikanti et al., 2022
// (selective); Jain et al., "Checkmate", 2020 (what is kept, op by op).
#include <algorithm>

#include "core/methods/catalogue.h"
#include "core/methods/layers/tensor_region.h"
#include "core/methods/memory/layer_policy.h"
#include "core/plan/stages.h"

namespace trainyard {
namespace {

constexpr std::string_view kRecomputeName = "recompute";

BodyOp again(BodyOp op, Pass pass) {
  op.recomputed = true;
  op.pass = pass;
  op.pass_name = kRecomputeName;
  return op;
}

// Drops the saved tensors for which `kept` is false; the layer's inputs are kept in any case.
template <class Kept>
void drop(Body& body, const Graph& graph, const Layout& layout, Kept kept) {
  std::vector<TensorId> inputs = {graph.input};
  if (graph.side_input.valid() && graph.side_input != graph.input)
    inputs.push_back(graph.side_input);
  // So does other data from outside that a layer reads, where frozen weights do not ask for it.
  std::vector<bool> made(graph.tensors.size());
  for (const Node& node : graph.nodes) {
    for (TensorId in : node.inputs)
      if (!made[in.value] && graph[in].kind != TensorKind::Parameter &&
          std::find(inputs.begin(), inputs.end(), in) == inputs.end())
        inputs.push_back(in);
    for (TensorId out : node.outputs) made[out.value] = true;
  }
  for (SavedTensor& saved : body.saved) {
    if (saved.producer.valid())
      saved.recomputed = !kept(saved.producer);
    else
      std::erase(inputs, saved.tensor);
  }
  if (body.saved.empty()) return;
  // Until now nothing in the layer needed these in backward, but the repeated forward does.
  for (const TensorId needed : inputs) {
    SavedTensor input = body.saved.front();
    input.name = needed == graph.input ? "input" : graph[needed].name;
    input.producer = NodeId{};
    input.recomputed = false;
    input.attention_core = false;
    input.bytes = local_bytes(graph[needed], layout.binding, layout.precision);
    input.tensor = needed;
    input.fact = {};
    body.saved.push_back(std::move(input));
  }
}

// Returns whether the op turns an input of attention in place to other heads and tokens. It runs
// again if that tensor does, whatever becomes of attention: what is kept stays turned.
bool turns_input(const Graph& graph, const BodyOp& op) {
  if (!op.communication || !is_context(op.group) || !op.tensor.valid() ||
      op.collective != CollectiveKind::AllToAll)
    return false;
  const std::vector<TensorId>& inputs = graph[op.node].inputs;
  return std::find(inputs.begin(), inputs.end(), op.tensor) != inputs.end();
}
bool is_made_again(const Body& body, TensorId tensor) {
  return std::any_of(body.saved.begin(), body.saved.end(),
                     [&](const SavedTensor& s) { return s.tensor == tensor && s.recomputed; });
}

void recompute_layer(Body& body, const Graph& graph, const Layout& layout) {
  drop(body, graph, layout, [](NodeId) { return false; });
  std::vector<BodyOp> backward;
  for (const BodyOp& op : body.forward) backward.push_back(again(op, Pass::BackwardInput));
  backward.insert(backward.end(), body.backward.begin(), body.backward.end());
  body.backward = std::move(backward);
}

// Returns for each node whether its output is kept under policy op.
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

// A kept output that no backward reads is available to the ops that run again. A compiler sees
// which outputs are used only for the layer's output and keeps none of those.
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
  drop(body, graph, layout, [&](NodeId node) { return bool{kept[node.value]}; });
  keep_outputs(body, graph, layout, kept, compiled);
  std::vector<BodyOp> backward;
  for (const BodyOp& op : body.forward) {
    // Communication after a kept product (its reduction over tensor ranks) is already part of what
    // is kept.
    const bool reduces = op.communication && op.tensor.valid() && kept[op.node.value] &&
                         op.collective != CollectiveKind::AllGather;
    if (turns_input(graph, op) ? !is_made_again(body, op.tensor)
                               : reduces || (!op.communication && kept[op.node.value]))
      continue;
    backward.push_back(again(op, Pass::BackwardInput));
  }
  backward.insert(backward.end(), body.backward.begin(), body.backward.end());
  body.backward = std::move(backward);
}

// Only the ops that produce what was dropped run again, each just before the backward that reads
// it.
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

// KeptNodes applies policy keep: it finds which nodes run again so that backward has its inputs,
// and what must be kept for them beside what backward reads itself.
class KeptNodes {
 public:
  KeptNodes(Body& body, const Graph& graph, const Layout& layout, const LayerPolicy& policy)
      : body_(body),
        graph_(graph),
        layout_(layout),
        producer_(graph.tensors.size()),
        again_(graph.nodes.size()) {
    for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
      for (TensorId out : graph.nodes[n].outputs) producer_[out.value] = NodeId{n};
      kept_.push_back(
          std::binary_search(policy.kept.begin(), policy.kept.end(), graph.nodes[n].name));
    }
  }

  void rewrite() {
    for (SavedTensor& saved : body_.saved)
      if (saved.producer.valid() && !kept_[saved.producer.value])
        saved.recomputed = again_[saved.producer.value] = true;
    for (std::size_t n = graph_.nodes.size(); n-- > 0;)
      if (again_[n])
        for (TensorId in : graph_.nodes[n].inputs) need(in, n);
    std::vector<BodyOp> backward;
    for (const BodyOp& op : body_.forward)
      if (runs_again(op)) backward.push_back(again(op, Pass::BackwardInput));
    backward.insert(backward.end(), body_.backward.begin(), body_.backward.end());
    body_.backward = std::move(backward);
  }

 private:
  void need(TensorId in, std::size_t reader) {
    const NodeId from = producer_[in.value];
    if (from.valid() && !kept_[from.value])
      again_[from.value] = true;
    else if (graph_[in].kind != TensorKind::Parameter)
      keep(in, from, NodeId{static_cast<std::uint32_t>(reader)});
  }

  void keep(TensorId tensor, NodeId from, NodeId reader) {
    for (const SavedTensor& saved : body_.saved)
      if (saved.tensor == tensor) return;
    SavedTensor saved;
    saved.name = graph_[tensor].name;
    saved.producer = from;
    saved.last_user = reader;
    saved.bytes = local_bytes(graph_[tensor], layout_.binding, layout_.precision);
    saved.tensor = tensor;
    body_.saved.push_back(std::move(saved));
  }

  // Nodes that take the same tensor into the tensor region gather it once.
  bool runs_again(const BodyOp& op) const {
    if (turns_input(graph_, op)) return is_made_again(body_, op.tensor);
    if (!op.communication || op.collective != CollectiveKind::AllGather || !op.tensor.valid())
      return op.node.valid() && again_[op.node.value];
    for (std::size_t n = 0; n < again_.size(); ++n)
      if (const Node& node = graph_.nodes[n]; again_[n] && takes_whole(node, op.tensor))
        return true;
    return false;
  }

  Body& body_;
  const Graph& graph_;
  const Layout& layout_;
  std::vector<NodeId> producer_;    // by tensor; invalid: the tensor comes from outside
  std::vector<bool> kept_, again_;  // by node
};

void rewrite_recompute(Body& body, const Layout& layout, const Scenario& scenario,
                       const Params& params) {
  const Block& block = scenario.model.blocks[static_cast<std::size_t>(body.block)];
  const bool below_trained = !body.wanted.empty() && body.backward.empty();
  if (!block.layer || below_trained) return;
  const LayerPolicy policy =
      parse_layer_policy(params.text("policy"), {"plan#/choices/recompute/policy"});
  const auto compiled = [&] {
    return settle(scenario.plan.software, scenario.cluster.device).kernels == KernelClass::Compiled;
  };
  switch (policy.kind) {
    case LayerPolicy::Kind::None:
      return;
    case LayerPolicy::Kind::Selective:
      return recompute_attention_core(body);
    case LayerPolicy::Kind::Op:
      return recompute_ops(body, block.graph, layout, compiled());
    case LayerPolicy::Kind::Full:
      return recompute_layer(body, block.graph, layout);
    case LayerPolicy::Kind::Keep:
      return KeptNodes(body, block.graph, layout, policy).rewrite();
    case LayerPolicy::Kind::All:
    case LayerPolicy::Kind::Convolutions:
    case LayerPolicy::Kind::Made:
      return;  // words of offloading, which the policies of recomputation do not have
  }
}

// Returns the number of layers of the stage with the most.
std::int64_t most_layers(const Scenario& scenario) {
  const std::vector<int>& split = scenario.plan.split.layers;
  if (!split.empty()) return *std::max_element(split.begin(), split.end());
  const std::int64_t stages = std::int64_t{scenario.plan.mesh.pp} * scenario.plan.virtual_stages;
  return (layer_count(scenario.model) + stages - 1) / stages;
}

Diagnostics check_recompute(const Scenario& scenario, const Params& params) {
  const std::string& policy = params.text("policy");
  const Place place{"plan#/choices/recompute"};
  if (policy == "selective" && scenario.plan.flash_attention)
    return {{Diagnostic::Severity::Warning,
             "recompute=selective drops the attention scores, which fused attention never keeps: "
             "nothing is saved",
             place, "recompute=none"}};
  if (policy != "blocks")
    return check_policies(parse_policies(policy, place), scenario.model,
                          stage_layers(scenario.model, scenario.plan), place);
  const std::int64_t most = most_layers(scenario);
  if (params.integer("blocks") > most)
    return {{Diagnostic::Severity::Error,
             "recompute=blocks=" + std::to_string(params.integer("blocks")) +
                 " asks for more layers than a stage has (" + std::to_string(most) + ")",
             place, "recompute=full"}};
  return {};
}

// Returns the message that refuses the text of a policy; "" where it is valid.
std::string refusal(std::string_view text) {
  if (text == "blocks") return "";
  try {
    parse_policies(text, {});
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

Method recompute() {
  return {
      .name = kRecomputeName,
      .axis = MethodAxis::Memory,
      .summary = "Throws away what forward keeps and computes it again before backward.",
      .paper = {"Training Deep Nets with Sublinear Memory Cost", "Chen et al.", "arXiv 1604.06174",
                2016},
      .card = {.gains = "full: a layer keeps only its input (2sbh of 34sbh and more); selective: "
                        "drops the 5as^2b of unfused attention",
               .costs =
                   "full: one more forward, up to a third more time; selective: 1 to 4 % more FLOP",
               .legal_when = "always; selective gains nothing with fused attention"},
      .file = "core/methods/memory/recompute.cpp",
      .params = {{.name = "policy",
                  .fallback = std::string("none"),
                  .doc =
                      "none, selective, op (all but attention and every second product), full, "
                      "keep=<nodes> (what they make is kept, as in keep=attention+act; keep=input: "
                      "nothing), or blocks (full for the first layers of every stage); a stage's "
                      "layers in runs, full*4,none, and its stages, full*4,none/full*2,none",
                  .refusal = refusal},
                 {.name = "blocks",
                  .fallback = std::int64_t{0},
                  .doc = "layers of each stage that policy blocks recomputes",
                  .low = 0,
                  .high = 1e6}},
      .check = check_recompute,
      .rewrite = rewrite_recompute,
  };
}

}  // namespace trainyard
