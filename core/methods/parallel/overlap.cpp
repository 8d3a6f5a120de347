// Communication overlap runs collectives beside computation when nothing waits for them at once.
// Gradients are reduced while the last backward still runs, layer by layer as they become ready;
// weights of the next layer are gathered while this one computes; keys and values travel while
// attention works on the block before.
//
//  compute   B(layer 3)  B(layer 2)  B(layer 1)  B(layer 0)
//  data                  reduce 3    reduce 2    reduce 1    reduce 0      only the last is exposed
//
// Tensor parallel communication waits for products and products wait for it. Two things hide it
// nonetheless: in backward, products that do not depend on it (the weight gradient while the
// input's gradient is reduced, the input gradient while the input is gathered again); and cutting
// both into as many pieces as there are ranks, so that one piece is multiplied while the next is
// sent (core/cost/overlap.h).
//
// Li et al., "PyTorch Distributed", VLDB 2020; Zhao et al., "PyTorch FSDP", VLDB 2023;
// Wang et al., "Overlap Communication with Dependent Computation via Decomposition", ASPLOS 2023.
#include <utility>

#include "core/methods/catalogue.h"
#include "core/model/zoo/pieces.h"
#include "core/plan/software.h"

namespace trainyard {
namespace {

void mark(std::vector<BodyOp>& ops, bool data, bool context) {
  for (BodyOp& op : ops) {
    if (!op.communication) continue;
    switch (op.group) {
      case Group::Data:
      case Group::ExpertData:
      case Group::Shard:
      case Group::Replica:
        op.overlapped = data && !op.node.valid();  // a norm waits for its own statistics
        break;
      case Group::Context:
      case Group::ContextRing:
        op.overlapped = context && !op.tensor.valid();  // keys and values, which go round a ring
        break;
      default:
        break;
    }
  }
}

// Gradients of keys and values leave while attention makes them: they begin when it does.
void begin_with_attention(std::vector<BodyOp>& ops) {
  for (std::size_t i = 1; i < ops.size(); ++i)
    if (ops[i].overlapped && is_context(ops[i].group) &&
        ops[i].collective == CollectiveKind::ReduceScatter)
      std::swap(ops[i - 1], ops[i]);
}

constexpr std::string_view kTensorWords[] = {"off", "backward", "on"};

TensorOverlap tensor_overlap(const Scenario& s, const Params& params) {
  const std::string& word = params.text("tensor");
  for (std::size_t i = 0; i < std::size(kTensorWords); ++i)
    if (word == kTensorWords[i]) return static_cast<TensorOverlap>(i);
  return settle(s.plan.software, s.cluster.device).framework->overlaps_tensor;
}

// Products finds the products of a layer that read (or, when row-cut, write) what a collective
// carries.
class Products {
 public:
  Products(const Graph& graph, const std::vector<BodyOp>& ops) : graph_(graph), ops_(ops) {}

  // Returns all products that a framework runs as one: those that have the same input, side by
  // side.
  WorkCount joint(const BodyOp& traffic, Pass pass, bool of_columns) const {
    WorkCount found{.count = 0};
    for (const BodyOp& op : ops_) {
      if (op.communication || op.work.kind != WorkKind::Product || !op.node.valid()) continue;
      if (op.recomputed != traffic.recomputed || (!op.recomputed && op.pass != pass)) continue;
      const Node& node = graph_[op.node];
      const bool reads = of_columns
                             ? node.split == TensorSplit::Column && node.inputs[0] == traffic.tensor
                             : op.node == traffic.node;
      if (!reads) continue;
      if (found.count == 0) {
        found = {op.work, 1, op.pass, op.recomputed};
        continue;
      }
      Work& w = found.work;
      w.flops += op.work.flops, w.read += op.work.read, w.written += op.work.written;
      // Products are joined along the columns of the output, or along the inner dimension.
      (w.k == op.work.k ? w.n : w.k) += w.k == op.work.k ? op.work.n : op.work.k;
    }
    return found;
  }

 private:
  const Graph& graph_;
  const std::vector<BodyOp>& ops_;
};

void hide(BodyOp& op, const Products& products, TensorOverlap overlap, int ranks) {
  const bool gathers = op.collective == CollectiveKind::AllGather;
  const bool divided = op.collective != CollectiveKind::AllReduce;
  const auto beside = [&](Pass pass, bool of_columns, std::int32_t pieces) {
    op.beside = products.joint(op, pass, of_columns);
    if (op.beside.count > 0) op.beside.count = pieces;
  };
  const bool forward = op.pass == Pass::Forward || op.recomputed;
  if (!forward && !op.of_gradient && gathers)
    return beside(Pass::BackwardInput, true, kIndependent);
  if (!forward && op.of_gradient && !gathers) {
    if (overlap == TensorOverlap::All) beside(Pass::BackwardWeight, true, kIndependent);
    return;
  }
  if (overlap != TensorOverlap::All || !divided) return;
  beside(forward ? Pass::Forward : Pass::BackwardInput, forward && gathers, ranks);
}

void hide_tensor(std::vector<BodyOp>& ops, const Graph& graph, TensorOverlap overlap, int ranks) {
  const Products products(graph, ops);
  for (BodyOp& op : ops)
    if (op.communication && op.group == Group::Tensor && op.tensor.valid())
      hide(op, products, overlap, ranks);
}

}  // namespace

Method overlap() {
  return {
      .name = "overlap",
      .axis = MethodAxis::Communication,
      .summary = "Runs gradient, weight, key/value and tensor parallel traffic beside computation.",
      .paper = {"PyTorch Distributed: Experiences on Accelerating Data Parallel Training",
                "Li et al.", "VLDB", 2020},
      .card =
          {.gains =
               "hides what fits beside computation: all but the first or last layer's collective",
           .costs = "buffers in flight; the device computes a little slower while it communicates",
           .legal_when = "always"},
      .file = "core/methods/parallel/overlap.cpp",
      .params = {{.name = "gradients",
                  .fallback = true,
                  .doc = "reduce gradients beside the backward that makes them"},
                 {.name = "weights",
                  .fallback = true,
                  .doc = "gather a layer's weights beside the layer before"},
                 {.name = "context",
                  .fallback = true,
                  .doc = "pass keys and values beside attention"},
                 {.name = "tensor",
                  .fallback = std::string("framework"),
                  .doc = "tensor parallel traffic beside products: off, backward (inputs gathered "
                         "again beside the other product), on (all, in pieces), or as "
                         "the plan's framework does",
                  .values = {"framework", "off", "backward", "on"}}},
      .rewrite =
          [](Body& body, const Layout& layout, const Scenario& scenario, const Params& params) {
            mark(body.forward, params.flag("weights"), params.flag("context"));
            mark(body.backward, params.flag("weights"), params.flag("context"));
            begin_with_attention(body.backward);
            for (BodyOp& op : body.reduce) op.overlapped = params.flag("gradients");
            for (BodyOp& op : body.gather) op.overlapped = params.flag("weights");
            const TensorOverlap tensor = tensor_overlap(scenario, params);
            if (layout.binding.tp == 1 || tensor == TensorOverlap::None) return;
            const Graph& graph = scenario.model.blocks[static_cast<std::size_t>(body.block)].graph;
            hide_tensor(body.forward, graph, tensor, layout.binding.tp);
            hide_tensor(body.backward, graph, tensor, layout.binding.tp);
          },
  };
}

}  // namespace trainyard
