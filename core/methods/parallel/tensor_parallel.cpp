// Tensor parallel cuts the two products of every attention and MLP block along columns and then
// rows, so that a block needs one reduction in forward and one in backward. With sequence parallel,
// what lies between the blocks (norms, residuals, dropout) is divided along the sequence, and each
// reduction becomes a reduce-scatter and an all-gather of the same volume.
//
// Not only products read a tensor whole: the scan of the first Mamba reads B and C so, and latent
// attention the rotary part of the keys, which all heads share. A pooler gathers the sequence for
// its first token. The tokens of a vision tower are not divided: each rank places those that belong
// into its part of the sequence, and the gradient of all of them is summed.
// A norm over all heads needs the mean square of a row, of which each rank has a part: the ranks
// average it, four bytes a token (eight for a layer norm, which has a mean too), and backward what
// the gradient has along the row.
//
//  without  x ──▶ [columns ─ rows] ── all-reduce ──▶      backward: all-reduce where x entered
//  with     x/t ── all-gather ──▶ [columns ─ rows] ── reduce-scatter ──▶ x/t      activations / t
//
// Shoeybi et al., "Megatron-LM", 2019; Korthikanti et al., "Reducing Activation Recomputation",
// 2022.
//
// Layers that a plan names keep their weights whole instead (ulysses_layers.h).
#include <algorithm>
#include <map>
#include <set>

#include "core/methods/catalogue.h"
#include "core/methods/layers/context_region.h"
#include "core/methods/layers/tensor_region.h"
#include "core/methods/parallel/communication.h"
#include "core/methods/parallel/sequence_length.h"
#include "core/methods/parallel/ulysses_layers.h"
#include "core/model/ops.h"
#include "core/plan/layer_ranges.h"

namespace trainyard {
namespace {

constexpr std::string_view kTensorParallelName = "tensor-parallel";

// Around holds the ops that must be inserted around those of one node.
struct Around {
  std::vector<BodyOp> before_forward, after_forward, before_backward, before_weight, after_backward;
};

class Inserter {
 public:
  Inserter(const Graph& graph, const Layout& layout, const Body& body)
      : graph_(graph), layout_(layout), body_(body), around_(graph.nodes.size()) {
    whole_ = layout.binding;
    whole_.sequence_parallel = false;
    std::map<TensorId, std::vector<std::size_t>> entering;  // the nodes that take the tensor in
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      if (!cut(node)) continue;
      if (divides_rows(graph, node, layout.binding)) average(i, node);
      if (node.op == &place_images()) place(i, node);
      for (TensorId in : std::set<TensorId>(node.inputs.begin(), node.inputs.end()))
        if (takes_whole(node, in)) entering[in].push_back(i);
      if (node.split == TensorSplit::Row || (node.split == TensorSplit::Vocab && !is_loss(node))) {
        leave(i, node);
      } else if (node.split == TensorSplit::Vocab) {
        loss(i, node);
      }
    }
    for (const auto& [tensor, readers] : entering) enter(tensor, readers);
  }

  std::vector<Around> take() { return std::move(around_); }

  /// Tensors that enter the tensor region are kept as they were gathered.
  void keep_gathered(std::vector<SavedTensor>& saved) const {
    for (SavedTensor& s : saved)
      if (s.tensor.valid() && divided(s.tensor) && enters(s.tensor)) s.bytes = whole(s.tensor);
  }

 private:
  // Returns whether tensor ranks share the node's work. Where experts are whole, each rank has its
  // own.
  bool cut(const Node& node) const {
    return !layout_.binding.whole_experts || node.op != &routed_matmul();
  }
  static bool is_loss(const Node& node) { return node.op->name == "softmax_loss"; }
  Bytes whole(TensorId tensor) const {
    return local_bytes(graph_[tensor], whole_, layout_.precision);
  }
  bool enters(TensorId tensor) const {
    return std::any_of(graph_.nodes.begin(), graph_.nodes.end(),
                       [&](const Node& node) { return cut(node) && enters_region(node, tensor); });
  }
  bool divided(TensorId tensor) const {
    for (const Dim& d : graph_[tensor].shape)
      if (d.axis == Axis::SequenceRegion) return layout_.binding.sequence_parallel;
    return false;
  }

  // Makes a collective on the tensor, or on its gradient.
  BodyOp op(std::string name, TensorId tensor, bool of_gradient, std::size_t node, Pass pass,
            CollectiveKind kind, Bytes bytes) const {
    BodyOp op =
        collective_op(kTensorParallelName, std::move(name),
                      NodeId{static_cast<std::uint32_t>(node)}, pass, kind, Group::Tensor, bytes);
    op.tensor = tensor;
    op.of_gradient = of_gradient;
    return op;
  }

  // Returns whether the node runs in that pass of a backward that frozen weights have shortened.
  bool runs(std::size_t node, Pass pass) const {
    return body_.wanted.empty() ||
           std::any_of(body_.backward.begin(), body_.backward.end(),
                       [&](const BodyOp& op) { return op.node.value == node && op.pass == pass; });
  }

  // This handles what enters the tensor region: every rank needs all of it, and its gradient is the
  // sum over the ranks.
  void enter(TensorId tensor, const std::vector<std::size_t>& readers) {
    const Bytes bytes = whole(tensor);
    const auto gives = [&](std::size_t node) {
      return enters_region(graph_.nodes[node], tensor) && runs(node, Pass::BackwardInput);
    };
    const auto reads_for = [&](std::size_t node) {
      return reads_entered_again(graph_.nodes[node]);
    };
    const auto reads = [&](std::size_t node) {
      const std::optional<Pass> pass = reads_for(node);
      return pass && runs(node, *pass);
    };
    const std::size_t first = readers.front();
    if (divided(tensor)) {
      around_[first].before_forward.push_back(op("gather " + graph_[tensor].name, tensor, false,
                                                 first, Pass::Forward, CollectiveKind::AllGather,
                                                 bytes));
      // Only a rank's own part was kept, so backward gathers the whole again.
      const auto last = std::find_if(readers.rbegin(), readers.rend(), reads);
      if (!layout_.framework.keeps_gathered_inputs && last != readers.rend()) {
        const Pass pass = *reads_for(*last);
        Around& around = around_[*last];
        (pass == Pass::BackwardWeight ? around.before_weight : around.before_backward)
            .push_back(op("gather " + graph_[tensor].name + " again", tensor, false, *last, pass,
                          CollectiveKind::AllGather, bytes));
      }
    }
    const auto giver = std::find_if(readers.begin(), readers.end(), gives);
    if (giver == readers.end()) return;
    around_[*giver].after_backward.push_back(
        op("reduce gradient of " + graph_[tensor].name, tensor, true, *giver, Pass::BackwardInput,
           divided(tensor) ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce, bytes));
  }

  // This handles a norm over rows of which each rank has a part: the means of the parts, whose
  // average is that of the row, are exchanged in 4 bytes each before the norm needs it.
  void average(std::size_t i, const Node& node) {
    const TensorId x = node.inputs[0];
    const Shape& shape = graph_[x].shape;
    const std::int64_t rows = local_elements(Shape(shape.begin(), shape.end() - 1), whole_);
    const Bytes bytes{(node.op == &layer_norm() ? 8 : 4) * rows};
    const auto made = [&](const char* what, Pass pass) {
      return op(what + node.name, x, false, i, pass, CollectiveKind::AllReduce, bytes);
    };
    around_[i].before_forward.push_back(made("average rows of ", Pass::Forward));
    if (runs(i, Pass::BackwardInput))
      around_[i].before_backward.push_back(
          made("average gradient along rows of ", Pass::BackwardInput));
  }

  // This handles the output of a row-cut product, or of an embedding over a cut vocabulary: both
  // are partial sums.
  void leave(std::size_t i, const Node& node) {
    const TensorId out = node.outputs[0];
    const Bytes bytes = whole(out);
    around_[i].after_forward.push_back(
        op("reduce " + graph_[out].name, out, false, i, Pass::Forward,
           divided(out) ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce, bytes));
    if (divided(out))
      around_[i].before_backward.push_back(op("gather gradient of " + graph_[out].name, out, true,
                                              i, Pass::BackwardInput, CollectiveKind::AllGather,
                                              bytes));
  }

  // This handles images whose tokens take places in a divided sequence: all ranks have all of them,
  // and each finds the gradient of those in its own part.
  void place(std::size_t i, const Node& node) {
    const TensorId images = node.inputs[1];
    if (!divided(node.inputs[0]) || divided(images) || !runs(i, Pass::BackwardInput)) return;
    around_[i].after_backward.push_back(op("reduce gradient of " + graph_[images].name, images,
                                           true, i, Pass::BackwardInput, CollectiveKind::AllReduce,
                                           whole(images)));
  }

  // Softmax over a cut vocabulary reduces the largest logit, the sum and the label's logit of every
  // token, in 4 bytes each.
  void loss(std::size_t i, const Node& node) {
    const Shape& logits = graph_[node.inputs[0]].shape;
    Shape rows(logits.begin(), logits.end() - 1);
    const std::int64_t tokens = local_elements(rows, whole_);
    around_[i].after_forward.push_back(op("reduce loss", node.inputs[0], false, i, Pass::Forward,
                                          CollectiveKind::AllReduce, Bytes{12 * tokens}));
  }

  const Graph& graph_;
  const Layout& layout_;
  const Body& body_;
  Binding whole_;
  std::vector<Around> around_;
};

void append(std::vector<BodyOp>& list, const std::vector<BodyOp>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

std::vector<BodyOp> weave_forward(const std::vector<BodyOp>& ops,
                                  const std::vector<Around>& around) {
  std::vector<BodyOp> woven;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Around& a = around[ops[i].node.value];
    if (i == 0 || ops[i - 1].node != ops[i].node) append(woven, a.before_forward);
    woven.push_back(ops[i]);
    if (i + 1 == ops.size() || ops[i + 1].node != ops[i].node) append(woven, a.after_forward);
  }
  return woven;
}

std::vector<BodyOp> weave_backward(const std::vector<BodyOp>& ops,
                                   const std::vector<Around>& around) {
  std::vector<BodyOp> woven;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const BodyOp& op = ops[i];
    const Around& a = around[op.node.value];
    const bool first = i == 0 || ops[i - 1].node != op.node;
    if (first) append(woven, a.before_backward);
    if (op.pass == Pass::BackwardWeight && (first || ops[i - 1].pass != op.pass))
      append(woven, a.before_weight);
    woven.push_back(op);
    if (i + 1 == ops.size() || ops[i + 1].node != op.node) append(woven, a.after_backward);
  }
  return woven;
}

void rewrite_tensor_parallel(Body& body, const Layout& layout, const Scenario& scenario,
                             const Params&) {
  const Graph& graph = scenario.model.blocks[static_cast<std::size_t>(body.block)].graph;
  if (layout.tensor_heads) return add_context_traffic(body, graph, layout);
  if (layout.binding.tp == 1) return;
  Inserter inserter(graph, layout, body);
  if (layout.framework.keeps_gathered_inputs) inserter.keep_gathered(body.saved);
  const std::vector<Around> around = inserter.take();
  body.forward = weave_forward(body.forward, around);
  body.backward = weave_backward(body.backward, around);
}

// Reports heads or MLP columns that the degree does not divide, the first one found.
Diagnostics check_degree(const Scenario& scenario) {
  const int tp = scenario.plan.mesh.tp;
  for (const Block& block : scenario.model.blocks)
    for (const Tensor& tensor : block.graph.tensors)
      for (const Dim& dim : tensor.shape) {
        const bool heads = dim.axis == Axis::Heads,
                   other = dim.axis == Axis::Ffn ||
                           (dim.axis == Axis::ExpertFfn && !whole_experts(scenario.plan.mesh));
        const std::int64_t units = dim.units > 0 ? dim.units : dim.size;
        const bool kv = dim.axis == Axis::KvHeads && units % tp != 0 && tp % units != 0;
        if (!kv && !((heads || other) && units % tp != 0)) continue;
        // The largest smaller degree that divides both is the nearest legal one.
        int legal = tp - 1;
        while (legal > 1 && (units % legal != 0 || scenario.cluster.count % legal != 0)) --legal;
        return {{Diagnostic::Severity::Error,
                 "tp=" + std::to_string(tp) + " does not divide the " + std::to_string(units) +
                     (kv      ? " key/value heads"
                      : heads ? " attention heads"
                              : " columns") +
                     " of " + block.name + "/" + tensor.name,
                 {"plan#/mesh/tp"},
                 "tp=" + std::to_string(legal)}};
      }
  return {};
}

Diagnostics check_regions(const Scenario& scenario) {
  if (is_recurrent(scenario.model))
    return {{Diagnostic::Severity::Error,
             "sequence parallel divides a sequence, and " + scenario.model.name +
                 " reads its own step by step",
             {"plan#/choices/tensor-parallel"},
             "sequence-parallel=off"}};
  const SequenceLength sequence = sequence_length(scenario);
  const std::int64_t parts = std::int64_t{scenario.plan.mesh.tp} * scenario.plan.mesh.cp;
  if (sequence.tokens <= 1 || sequence.tokens % parts == 0) return {};
  return {{Diagnostic::Severity::Error,
           "sequence parallel divides " + std::to_string(sequence.tokens) + " tokens over " +
               std::to_string(parts) + " ranks (tp x cp), which leaves a remainder of " +
               std::to_string(sequence.tokens % parts),
           {sequence.open ? "plan#/batch/sequence" : "plan#/choices/tensor-parallel"},
           sequence.open ? "seq=" + std::to_string((sequence.tokens / parts + 1) * parts)
                         : "sequence-parallel=off"}};
}

Diagnostics check_tensor_parallel(const Scenario& scenario, const Params& params) {
  const int tp = scenario.plan.mesh.tp;
  if (tp == 1) return check_ulysses_layers(scenario, params);
  Diagnostics found = check_degree(scenario);
  if (found.empty() && params.flag("sequence-parallel")) found = check_regions(scenario);
  if (found.empty()) found = check_ulysses_layers(scenario, params);
  const std::int64_t node = devices_per_node(scenario.cluster);
  if (tp > node)
    found.push_back({Diagnostic::Severity::Warning,
                     "tp=" + std::to_string(tp) + " spans nodes of " + std::to_string(node) +
                         " devices: every layer's reductions cross the network",
                     {"plan#/mesh/tp"},
                     "tp=" + std::to_string(node)});
  return found;
}

}  // namespace

Method tensor_parallel() {
  return {
      .name = kTensorParallelName,
      .axis = MethodAxis::Sharding,
      .summary =
          "Cuts the products of every layer over tp ranks; with sequence parallel the rest of the "
          "layer too.",
      .paper = {"Reducing Activation Recomputation in Large Transformer Models",
                "Korthikanti et al.", "MLSys", 2023},
      .card =
          {.gains = "weights, gradients, optimizer state and a layer's saved tensors divided by tp",
           .costs = "two reductions of the residual stream per layer, forward and backward, on "
                    "the critical path",
           .legal_when =
               "tp divides heads and MLP width; keep within a node unless the network is as fast"},
      .file = "core/methods/parallel/tensor_parallel.cpp",
      .params = {{.name = "sequence-parallel",
                  .fallback = true,
                  .doc = "divide norms and residuals along the sequence"},
                 {.name = kUlyssesLayers,
                  .fallback = std::string("none"),
                  .doc =
                      "layers whose weights every tensor rank has whole, and whose ranks exchange "
                      "heads for tokens around attention (Ulysses): none, all, or such as first:2 "
                      "or 0-3, counted from 0",
                  .refusal = layer_ranges_refusal}},
      .check = check_tensor_parallel,
      .arrange =
          [](Layout& layout, const Scenario& scenario, const Params& params) {
            layout.binding.tp = scenario.plan.mesh.tp;
            layout.binding.sequence_parallel =
                params.flag("sequence-parallel") && scenario.plan.mesh.tp > 1;
          },
      .rewrite = rewrite_tensor_parallel,
  };
}

}  // namespace trainyard
