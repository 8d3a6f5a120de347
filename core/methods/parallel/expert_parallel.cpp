// Expert parallel spreads the experts of a routed layer over ep ranks taken from the data-parallel
// ones. Tokens travel to the ranks that hold their experts (dispatch) and back (combine), forward
// and backward.
//
// With tensor parallel, an expert is either cut over the tensor ranks as any product is (etp = tp)
// or whole on one of them (etp = 1). In the second case ep takes its ranks from tp x cp x dp, every
// tensor rank dispatches its own part of the tokens, and nothing is reduced inside an expert:
//
//   etp = tp   x/t ── all-to-all ──▶ all-gather ──▶ [columns ─ rows] ── reduce-scatter ──▶
//   etp = 1    x/t ── all-to-all ──▶ [expert] ──▶
//
// Lepikhin et al., "GShard", ICLR 2021; Fedus et al., "Switch Transformers", JMLR 2022.
#include <algorithm>
#include <cmath>

#include "core/methods/catalogue.h"
#include "core/methods/parallel/communication.h"
#include "core/model/ops.h"
#include "core/plan/software.h"

namespace trainyard {
namespace {

constexpr std::string_view kExpertParallelName = "expert-parallel";

// Returns the tensor of token copies that is sent: dispatch's output or combine's input.
TensorId travelling(const Node& node) {
  return node.op->name == "dispatch" ? node.outputs[0] : node.inputs[0];
}

// Returns the expected number of places that hold at least one of `chosen` experts drawn at random.
double distinct(double places, std::int64_t chosen) {
  return places * (1 - std::pow(1 - 1 / places, static_cast<double>(chosen)));
}

bool sends_once(const Scenario& s, const Params& params) {
  const std::string& word = params.text("copies");
  if (word != "framework") return word == "rank";
  return settle(s.plan.software, s.cluster.device).framework->distinct_tokens;
}

// Routing is how a layer's router chooses experts: `experts` of a token, all in `chosen` of
// `groups` groups of neighbouring experts (DeepSeek-V3 limits the nodes that a token goes to so).
struct Routing {
  std::int64_t experts = 1, groups = 1, chosen = 1;
};

Routing routing_of(const Graph& graph) {
  for (const Node& node : graph.nodes)
    if (const std::int64_t k = attribute(node, "top_k"); k > 0 && node.op->name == "router")
      return {k, attribute(node, "groups", 1), attribute(node, "chosen_groups", 1)};
  return {};
}

// Returns how many of the places hold groups that a token has chosen: each place has some groups,
// or each group some places.
double open_places(std::int64_t places, const Routing& routing) {
  if (places >= routing.groups) {
    const std::int64_t of_a_group = places / routing.groups;
    return static_cast<double>(routing.chosen * of_a_group);
  }
  const std::int64_t each = routing.groups / places;
  double none = 1;  // the chance that no group of one place is chosen
  for (std::int64_t i = 0; i < each; ++i)
    none *= static_cast<double>(std::max<std::int64_t>(0, routing.groups - routing.chosen - i)) /
            static_cast<double>(routing.groups - i);
  return static_cast<double>(places) * (1 - none);
}

// Returns the share of the copies that are actually sent, relative to one copy per expert. Where
// the group spans nodes the network is the bottleneck, and a copy crosses it once for all experts
// of a node.
double travelling_share(const Scenario& s, const Params& params, const Routing& routing) {
  if (routing.experts <= 1 || !sends_once(s, params)) return 1;
  const GroupShape group = group_shape(s.plan.mesh, Group::Expert, s.cluster);
  const std::int64_t places =
      group.per_node < group.ranks ? group.ranks / group.per_node : group.ranks;
  return distinct(open_places(places, routing), routing.experts) /
         static_cast<double>(routing.experts);
}

// Returns what the fullest rank has of the copies, relative to its even share: places for as many
// as its experts may take at most, filled or not, or all that chose them.
double fullest(const Params& params) {
  const double capacity = params.number("capacity");
  return capacity > 0 ? capacity : params.number("imbalance");
}

Bytes times(Bytes bytes, double factor) {
  return Bytes{std::llround(static_cast<double>(bytes.value) * factor)};
}

// All work on copies of tokens, and what is kept of them, grows with what the fullest rank has.
void fill(Body& body, const Graph& graph, double factor) {
  const std::vector<bool> copies = copies_of_tokens(graph);
  for (std::vector<BodyOp>* ops : {&body.forward, &body.backward})
    for (BodyOp& op : *ops) {
      if (op.communication || !op.node.valid()) continue;
      const Node& node = graph[op.node];
      if (!copies[node.outputs[0].value] && node.op != &combine()) continue;
      Work& w = op.work;
      const bool product = w.kind == WorkKind::Product;
      std::int64_t& rows = op.pass == Pass::BackwardWeight ? w.k : w.m;
      if (product)
        rows = std::max<std::int64_t>(1, std::llround(static_cast<double>(rows) * factor));
      w.flops = w.flops * factor;
      w.read = times(w.read, factor), w.written = times(w.written, factor);
    }
  for (SavedTensor& kept : body.saved)
    if (kept.tensor.valid() && copies[kept.tensor.value]) kept.bytes = times(kept.bytes, factor);
}

void rewrite_expert_parallel(Body& body, const Layout& layout, const Scenario& scenario,
                             const Params& params) {
  if (layout.binding.ep == 1) return;
  const Graph& graph = scenario.model.blocks[static_cast<std::size_t>(body.block)].graph;
  const double full = fullest(params),
               share = travelling_share(scenario, params, routing_of(graph)) * full;
  const auto routed = [&](const BodyOp& op) {
    return !op.communication && op.node.valid() && graph[op.node].split == TensorSplit::Routed;
  };
  const auto exchange = [&](const BodyOp& op, const char* what) {
    const Bytes all =
        local_bytes(graph[travelling(graph[op.node])], layout.binding, layout.precision);
    return collective_op(kExpertParallelName, what, op.node, op.pass, CollectiveKind::AllToAll,
                         Group::Expert, times(all, share));
  };
  if (full != 1) fill(body, graph, full);
  std::vector<BodyOp> forward, backward;
  for (const BodyOp& op : body.forward) {
    const bool dispatch = routed(op) && graph[op.node].op->name == "dispatch";
    if (routed(op) && !dispatch) forward.push_back(exchange(op, "return tokens"));
    forward.push_back(op);
    if (dispatch) forward.push_back(exchange(op, "send tokens to experts"));
  }
  for (const BodyOp& op : body.backward) {
    const bool dispatch = routed(op) && graph[op.node].op->name == "dispatch";
    if (dispatch) backward.push_back(exchange(op, "return gradients"));
    backward.push_back(op);
    if (routed(op) && !dispatch) backward.push_back(exchange(op, "send gradients to experts"));
  }
  body.forward = std::move(forward);
  body.backward = std::move(backward);
}

std::int64_t experts(const Model& model) {
  for (const Block& block : model.blocks)
    for (const Tensor& tensor : block.graph.tensors)
      for (const Dim& dim : tensor.shape)
        if (dim.axis == Axis::Experts) return dim.size;
  return 0;
}

Diagnostics refuse_experts(std::string sentence, std::string_view place, std::string fix) {
  return {{Diagnostic::Severity::Error,
           std::move(sentence),
           {"plan#/" + std::string(place)},
           std::move(fix)}};
}

bool divides_tokens(const Plan& plan) {
  const Choice* chosen = find_choice(plan, "tensor-parallel");
  return chosen != nullptr && chosen->params.flag("sequence-parallel");
}

// Checks the degree to which tensor ranks cut an expert. A complete plan states it only where it is
// not tp.
Diagnostics check_expert_tensor(const Scenario& scenario, std::int64_t count) {
  const Mesh& mesh = scenario.plan.mesh;
  if (!mesh.etp) return {};
  const std::string etp = "etp=" + std::to_string(*mesh.etp);
  if (count == 0)
    return refuse_experts(
        etp + " is the tensor degree of experts, and " + scenario.model.name + " has none",
        "mesh/etp", "etp=tp");
  if (!whole_experts(mesh))
    return refuse_experts(etp + " cuts an expert over some of " + std::to_string(mesh.tp) +
                              " tensor ranks: expected all of them (etp=" +
                              std::to_string(mesh.tp) + ") or one (etp=1)",
                          "mesh/etp", "etp=tp");
  if (!divides_tokens(scenario.plan))
    return refuse_experts(etp +
                              " has every tensor rank send tokens of its own to the experts, "
                              "which are divided over tp only with sequence parallel",
                          "choices/tensor-parallel", "sequence-parallel=on");
  return {};
}

Diagnostics check_expert_parallel(const Scenario& scenario, const Params&) {
  const Mesh& mesh = scenario.plan.mesh;
  const std::int64_t count = experts(scenario.model);
  if (Diagnostics found = check_expert_tensor(scenario, count); !found.empty()) return found;
  if (mesh.ep == 1) return {};
  const std::string ep = "ep=" + std::to_string(mesh.ep);
  if (count == 0)
    return refuse_experts(ep + " spreads experts, and " + scenario.model.name + " has none",
                          "mesh/ep", "ep=1");
  const std::int64_t pool = expert_pool(mesh);
  std::int64_t legal = std::min<std::int64_t>(mesh.ep, count);
  while (legal > 1 && (count % legal != 0 || pool % legal != 0)) --legal;
  if (count % mesh.ep != 0)
    return refuse_experts(ep + " does not divide " + std::to_string(count) + " experts", "mesh/ep",
                          "ep=" + std::to_string(legal));
  if (pool % mesh.ep == 0) return {};
  const bool whole = whole_experts(mesh), could_be = !whole && pool * mesh.tp % mesh.ep == 0;
  return refuse_experts(
      ep + " takes its ranks from " + (whole ? "tp x cp x dp = " : "dp x cp = ") +
          std::to_string(pool) + ", which it does not divide" +
          (could_be ? "; with whole experts (etp=1) it would take them from tp too" : ""),
      "mesh/ep", could_be ? "etp=1" : "ep=" + std::to_string(legal));
}

}  // namespace

Method expert_parallel() {
  return {
      .name = kExpertParallelName,
      .axis = MethodAxis::Sharding,
      .summary =
          "Spreads the experts of routed layers over ep ranks; tokens travel to them and back.",
      .paper = {"GShard: Scaling Giant Models with Conditional Computation and Automatic Sharding",
                "Lepikhin et al.", "ICLR", 2021},
      .card = {.gains = "expert weights, gradients and optimizer state divided by ep",
               .costs = "two all-to-alls per layer, in forward and in backward",
               .legal_when = "ep divides the experts and dp x cp, or tp x cp x dp where each "
                             "expert is whole on one rank (etp = 1)"},
      .file = "core/methods/parallel/expert_parallel.cpp",
      .params = {{.name = "copies",
                  .fallback = std::string("framework"),
                  .doc =
                      "a routed token travels once to each expert, or once to each rank that "
                      "holds one (over the network: to each node) by one kernel that also counts "
                      "(DeepEP, HybridEP), or as the framework does",
                  .values = {"framework", "expert", "rank"}},
                 {.name = "imbalance",
                  .fallback = 1.0,
                  .doc = "tokens of the fullest rank, of the mean; all wait for it",
                  .low = 1,
                  .high = 1000},
                 {.name = "capacity",
                  .fallback = 0.0,
                  .doc = "tokens for which an expert has places, of the mean; further ones are "
                         "dropped and empty places are computed; 0 = all tokens are kept",
                  .low = 0,
                  .high = 1000}},
      .check = check_expert_parallel,
      .arrange =
          [](Layout& layout, const Scenario& s, const Params&) {
            layout.binding.ep = s.plan.mesh.ep;
            layout.binding.whole_experts = whole_experts(s.plan.mesh);
          },
      .rewrite = rewrite_expert_parallel,
  };
}

}  // namespace trainyard
