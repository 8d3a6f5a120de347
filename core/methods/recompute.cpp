// Recomputation: what forward would keep is thrown away and computed again just before backward
// needs it.
//
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

void recompute_layer(Body& body, const Graph& graph) {
  bool keeps_input = false;
  for (SavedTensor& saved : body.saved) {
    if (saved.producer.valid())
      saved.recomputed = true;
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
  std::vector<BodyOp> backward;
  for (const BodyOp& op : body.forward) backward.push_back(again(op, Pass::BackwardInput));
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

void rewrite(Body& body, const Layout&, const Scenario& scenario, const Params& params) {
  const Block& block = scenario.model.blocks[static_cast<std::size_t>(body.block)];
  if (!block.layer) return;
  const std::string& policy = params.text("policy");
  if (policy == "full") recompute_layer(body, block.graph);
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
                      "none, selective, full, or blocks (full for the first layers of every stage)",
                  .values = {"none", "selective", "full", "blocks"}},
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
