// Context parallel divides the sequence over the ranks, which attention needs whole. There are
// three ways to it.
//
// Ring: keys and values travel round a ring while each rank attends to the part that has just
// arrived. Backward sends them round again, together with their gradients.
//
//  rank 0   attend(kv0)  attend(kv3)  attend(kv2)  attend(kv1)    each kv moves one rank at a time
//
// Ulysses: an all-to-all each turns queries, keys and values from some tokens of all heads to all
// tokens of some heads, and one turns the output back. Backward is its mirror. Nothing hides them,
// but each rank moves 1 / cp of what a ring does.
//
//  tokens/cp, heads   ── q, k, v ──▶   tokens, heads/cp: attend   ── output ──▶   tokens/cp, heads
//
// Hybrid (USP): neighbouring ranks exchange heads, and each rank's part of them travels round a
// ring of the others.
//
// Recurrences over the sequence (Mamba 2, gated delta) have no ring: whatever attention does, all
// ranks exchange heads for tokens around them (core/methods/layers/context_region.h).
//
// A pooler reads the first token of the whole sequence, which the first rank has and gives to the
// others. All of them then compute with it, and backward the first rank takes the sum of what they
// have made of its gradient.
//
// Liu et al., "Ring Attention with Blockwise Transformers for Near-Infinite Context", ICLR 2024;
// Jacobs et al., "DeepSpeed Ulysses", arXiv 2309.14509, 2023; Fang and Zhao, "USP: A Unified
// Sequence Parallelism Approach for Long Context Generative AI", arXiv 2405.07719, 2024.
#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "core/methods/catalogue.h"
#include "core/methods/layers/context_region.h"
#include "core/methods/parallel/communication.h"
#include "core/methods/parallel/sequence_length.h"
#include "core/plan/context_degrees.h"

namespace trainyard {
namespace {

constexpr std::string_view kContextParallelName = "context-parallel";

bool is_pooler(const Graph& graph, const Node& node, const Binding& binding) {
  return node.op == &first_token() && parts(graph[node.inputs[0]].shape.front(), binding) > 1;
}

// ContextTraffic writes what ranks send around one attention, one recurrence or one pooler.
class ContextTraffic {
 public:
  ContextTraffic(const Graph& graph, const Layout& layout)
      : graph_(graph),
        layout_(layout),
        ring_(layout.binding.cp / layout.binding.ulysses),
        all_(layout.tensor_heads ? Group::TensorHeads : Group::Context),
        heads_(layout.tensor_heads ? Group::TensorHeads : Group::ContextHeads),
        ring_group_(layout.binding.ulysses > 1 ? Group::ContextRing : Group::Context) {}

  // Adds the op with what travels before and after it.
  void forward(const BodyOp& op, std::vector<BodyOp>& into) const {
    const Node& node = graph_[op.node];
    if (is_headwise_recurrence(node)) {
      for (std::size_t i = 0; i < node.inputs.size(); ++i)
        if (enters_heads(graph_, node, i)) exchange(op, node.inputs[i], false, "heads", into);
      into.push_back(op);
      if (!stays_in_heads(node)) exchange(op, node.outputs[0], false, "tokens", into);
      return;
    }
    if (!attends_over_ranks(node)) {
      into.push_back(op);
      on_output(op, "pass first token", CollectiveKind::Broadcast, false, into);
      return;
    }
    for (std::size_t i = 0; i < 3; ++i) turn(op, node.inputs[i], false, kInputs[i], into);
    pass(op, "pass keys and values", CollectiveKind::AllGather, into);
    into.push_back(op);
    turn(op, node.outputs[0], false, "turn output to tokens", into);
  }
  void backward(const BodyOp& op, std::vector<BodyOp>& into) const {
    const Node& node = graph_[op.node];
    if (is_headwise_recurrence(node)) {
      // A convolution's weight pass reads what its input pass did, in the same form.
      const bool gives = op.pass == Pass::BackwardInput;
      if (gives && !stays_in_heads(node)) exchange(op, node.outputs[0], true, "heads", into);
      into.push_back(op);
      for (std::size_t i = 0; gives && i < node.inputs.size(); ++i)
        if (enters_heads(graph_, node, i)) exchange(op, node.inputs[i], true, "tokens", into);
      return;
    }
    if (!attends_over_ranks(node)) {
      on_output(op, "reduce gradient of first token", CollectiveKind::AllReduce, true, into);
      into.push_back(op);
      return;
    }
    turn(op, node.outputs[0], true, "turn output gradient to heads", into);
    pass(op, "pass keys and values", CollectiveKind::AllGather, into);
    into.push_back(op);
    pass(op, "pass their gradients", CollectiveKind::ReduceScatter, into);
    for (std::size_t i = 0; i < 3; ++i) turn(op, node.inputs[i], true, kGradients[i], into);
  }

 private:
  static constexpr const char *kInputs[] = {"turn queries to heads", "turn keys to heads",
                                            "turn values to heads"},
                              *kGradients[] = {"turn query gradients to tokens",
                                               "turn key gradients to tokens",
                                               "turn value gradients to tokens"};

  Bytes bytes(TensorId id) const {
    return local_bytes(graph_[id], layout_.binding, layout_.precision);
  }
  static BodyOp of_tensor(BodyOp made, TensorId tensor, bool gradient) {
    made.tensor = tensor;
    made.of_gradient = gradient;
    return made;
  }
  void on_output(const BodyOp& op, const char* name, CollectiveKind kind, bool gradient,
                 std::vector<BodyOp>& into) const {
    const TensorId out = graph_[op.node].outputs[0];
    into.push_back(of_tensor(
        collective_op(kContextParallelName, name, op.node, op.pass, kind, all_, bytes(out)), out,
        gradient));
  }
  void turn(const BodyOp& op, TensorId tensor, bool gradient, std::string name, Group group,
            Bytes bytes, std::vector<BodyOp>& into) const {
    into.push_back(of_tensor(collective_op(kContextParallelName, std::move(name), op.node, op.pass,
                                           CollectiveKind::AllToAll, group, bytes),
                             tensor, gradient));
  }
  void turn(const BodyOp& op, TensorId tensor, bool gradient, const char* name,
            std::vector<BodyOp>& into) const {
    if (layout_.binding.ulysses > 1) turn(op, tensor, gradient, name, heads_, bytes(tensor), into);
  }
  void exchange(const BodyOp& op, TensorId tensor, bool gradient, const char* to,
                std::vector<BodyOp>& into) const {
    turn(op, tensor, gradient,
         (gradient ? "turn gradient of " : "turn ") + graph_[tensor].name + " to " + to, all_,
         bytes(tensor) * copies_of_groups(graph_[tensor], layout_.binding), into);
  }
  void pass(const BodyOp& op, const char* name, CollectiveKind kind,
            std::vector<BodyOp>& into) const {
    if (ring_ == 1) return;
    const Node& node = graph_[op.node];
    into.push_back(collective_op(kContextParallelName, name, op.node, op.pass, kind, ring_group_,
                                 (bytes(node.inputs[1]) + bytes(node.inputs[2])) * ring_));
  }

  const Graph& graph_;
  const Layout& layout_;
  int ring_;           // ranks of one
  Group all_, heads_;  // ranks that divide the sequence, and those that exchange heads
  Group ring_group_;
};

// A recurrence keeps what it reads as it was exchanged, with the copies of groups.
void keep_copies_of_groups(Body& body, const Graph& graph, const Binding& binding) {
  for (SavedTensor& saved : body.saved)
    if (saved.tensor.valid())
      saved.bytes = saved.bytes * copies_in_region(graph, saved.tensor, binding);
}

void rewrite_context_parallel(Body& body, const Layout& layout, const Scenario& scenario,
                              const Params&) {
  if (layout.binding.cp > 1 && !layout.tensor_heads)
    add_context_traffic(body, scenario.model.blocks[static_cast<std::size_t>(body.block)].graph,
                        layout);
}

// Checks the ranks that exchange heads; the mesh of a complete plan has their number.
Diagnostics check_heads(const Scenario& scenario, const Params& params) {
  const Mesh& mesh = scenario.plan.mesh;
  const std::string& kind = params.text("kind");
  const std::int64_t stated = params.integer("ulysses");
  const auto refuse = [](std::string sentence, std::string_view param, std::string fix) {
    return Diagnostics{{Diagnostic::Severity::Error,
                        std::move(sentence),
                        {"plan#/choices/context-parallel/" + std::string(param)},
                        "context-parallel." + std::move(fix)}};
  };
  const std::string cp = "cp=" + std::to_string(mesh.cp);
  const int most = most_by_heads(scenario.model, mesh);
  if (kind != "hybrid" && stated != 0 && stated != mesh.ulysses)
    return refuse("ulysses=" + std::to_string(stated) + " is a part of " + cp +
                      ", which only kind=hybrid has, found kind=" + kind,
                  "ulysses", "kind=hybrid");
  if (kind == "hybrid" && stated != 0 && mesh.cp % stated != 0)
    return refuse("ulysses=" + std::to_string(stated) + " does not divide " + cp, "ulysses",
                  "ulysses=" + std::to_string(std::gcd(stated, std::int64_t{mesh.cp})));
  for (const std::int64_t heads : heads_of_attention(scenario.model, mesh.tp))
    if (heads % mesh.ulysses != 0)
      return refuse(std::to_string(mesh.ulysses) +
                        " ranks exchange heads for tokens, and must divide those of queries and "
                        "of keys that a tensor rank has, found " +
                        std::to_string(heads),
                    "ulysses",
                    most == 1          ? "kind=ring"
                    : kind == "hybrid" ? "ulysses=" + std::to_string(most)
                                       : "kind=hybrid");
  return {};
}

// Checks the heads that recurrences exchange for tokens. The scan of the first Mamba cannot: what
// it reads beside its channels is the sum over all of them of what its convolution gives. No system
// is known that divides its sequence; Megatron-LM has the second Mamba alone.
Diagnostics check_recurrences(const Scenario& scenario) {
  const Mesh& mesh = scenario.plan.mesh;
  Binding binding;
  binding.tp = mesh.tp;
  const auto refuse = [](std::string sentence, std::int64_t cp) {
    return Diagnostics{{Diagnostic::Severity::Error,
                        std::move(sentence),
                        {"plan#/mesh/cp"},
                        "cp=" + std::to_string(cp)}};
  };
  for (const Block& block : scenario.model.blocks)
    for (const Node& node : block.graph.nodes) {
      if (node.op == &selective_scan())
        return refuse("context ranks exchange the channels of a recurrence for tokens, and " +
                          node.name + " of " + block.name +
                          " reads sums over all channels, so that no system divides its sequence",
                      1);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (!enters_heads(block.graph, node, i)) continue;
        const Tensor& tensor = block.graph[node.inputs[i]];
        const Dim& last = tensor.shape.back();
        const std::int64_t heads =
            local_size({last.units > 0 ? last.units : last.size, last.axis, last.units}, binding);
        if (last.axis != Axis::KvHeads && heads % mesh.cp != 0)
          return refuse("cp=" + std::to_string(mesh.cp) + " does not divide the " +
                            std::to_string(heads) + " heads of " + block.name + "/" + tensor.name +
                            " that a tensor rank has, which context ranks exchange for tokens",
                        std::gcd(heads, std::int64_t{mesh.cp}));
        if (heads % mesh.cp != 0 && mesh.cp % heads != 0)
          return refuse("cp=" + std::to_string(mesh.cp) +
                            " is neither a part nor a multiple of the " + std::to_string(heads) +
                            " groups of " + block.name + "/" + tensor.name +
                            " that a tensor rank has, of which each context rank "
                            "has some, or a copy of one",
                        std::gcd(heads, std::int64_t{mesh.cp}));
      }
    }
  return {};
}

Diagnostics check_context_parallel(const Scenario& scenario, const Params& params) {
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
  if (Diagnostics found = check_recurrences(scenario); !found.empty()) return found;
  // With causal attention, rank i has the pieces i and 2 cp - 1 - i, so that all ranks do the same
  // work.
  const std::int64_t pieces = 2 * std::int64_t{cp};
  if (sequence.tokens % pieces == 0) return check_heads(scenario, params);
  return refuse(
      degree + " cuts the sequence into " + std::to_string(pieces) + " pieces, and " +
          std::to_string(sequence.tokens) + " tokens leave a remainder of " +
          std::to_string(sequence.tokens % pieces),
      sequence.open ? "seq=" + std::to_string((sequence.tokens / pieces + 1) * pieces) : "cp=1");
}

}  // namespace

void add_context_traffic(Body& body, const Graph& graph, const Layout& layout) {
  const ContextTraffic traffic(graph, layout);
  const auto mixes = [&](const BodyOp& op) {
    if (op.communication || !op.node.valid()) return false;
    const Node& node = graph[op.node];
    return attends_over_ranks(node) || is_headwise_recurrence(node) ||
           is_pooler(graph, node, layout.binding);
  };
  std::vector<BodyOp> forward, backward;
  for (const BodyOp& op : body.forward)
    mixes(op) ? traffic.forward(op, forward) : forward.push_back(op);
  for (const BodyOp& op : body.backward)
    mixes(op) ? traffic.backward(op, backward) : backward.push_back(op);
  body.forward = std::move(forward);
  body.backward = std::move(backward);
  keep_copies_of_groups(body, graph, layout.binding);
}

Method context_parallel() {
  return {
      .name = kContextParallelName,
      .axis = MethodAxis::Sharding,
      .summary =
          "Divides the sequence over cp ranks, which attend by a ring of keys and values, by "
          "exchanging heads (Ulysses), or both.",
      .paper = {"Ring Attention with Blockwise Transformers for Near-Infinite Context",
                "Liu et al.", "ICLR", 2024},
      .card = {.gains = "activations divided by cp: sequences that no single device could hold",
               .costs = "ring: keys and values of the whole sequence pass every rank, hidden while "
                        "attention is longer; Ulysses: four all-to-alls of a rank's own part, "
                        "hidden by nothing, and the output is kept twice",
               .legal_when = "the sequence divides into 2 cp pieces; Ulysses: the ranks divide the "
                             "heads of queries and of keys that a tensor rank has; recurrences "
                             "(Mamba 2, gated delta): they divide its heads, which are always "
                             "exchanged for tokens, and divide or share its groups"},
      .file = "core/methods/parallel/context_parallel.cpp",
      .params = {{.name = "kind",
                  .fallback = std::string("ring"),
                  .doc = "how ranks attend to the whole sequence: keys and values travel round a "
                         "ring, ranks exchange tokens for heads (ulysses), or neighbours exchange "
                         "heads and the others form rings (hybrid)",
                  .values = {"ring", "ulysses", "hybrid"}},
                 {.name = "ulysses",
                  .fallback = std::int64_t{0},
                  .doc = "hybrid: neighbouring cp ranks that exchange heads; 0 = the most that "
                         "divide cp and the heads of a tensor rank",
                  .low = 0,
                  .high = 1e6}},
      .check = check_context_parallel,
      .arrange =
          [](Layout& layout, const Scenario& s, const Params&) {
            layout.binding.cp = s.plan.mesh.cp;
            layout.binding.ulysses = s.plan.mesh.ulysses;
          },
      .rewrite = rewrite_context_parallel,
  };
}

}  // namespace trainyard
