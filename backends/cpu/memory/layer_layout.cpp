#include "backends/cpu/memory/layer_layout.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "backends/cpu/kernels/formats.h"
#include "backends/cpu/kernels/kernel.h"
#include "backends/executable.h"
#include "core/methods/layers/tensor_region.h"
#include "core/methods/layers/transients.h"
#include "core/methods/layers/weight_pass.h"
#include "core/methods/precision/narrow_products.h"
#include "core/model/ops.h"
#include "core/model/reference.h"

namespace trainyard {
namespace {

std::vector<TensorView> views(const Graph& graph, Binding binding, const Precision& precision,
                              bool whole) {
  if (whole) binding.sequence_parallel = false;
  std::vector<TensorView> list;
  for (const Tensor& tensor : graph.tensors) {
    TensorView view;
    for (std::int64_t size : local_shape(tensor, binding))
      view.size[static_cast<std::size_t>(view.rank++)] = size;
    view.type = storage_type(tensor.kind, precision);
    list.push_back(view);
  }
  return list;
}

class Finder {
 public:
  Finder(const Workload& w, const Body& body)
      : graph_(w.scenario.model.blocks[static_cast<std::size_t>(body.block)].graph),
        body_(body),
        sequence_parallel_(body.binding.sequence_parallel && body.binding.tp > 1),
        whole_experts_(body.binding.whole_experts),
        computes_(graph_.nodes.size(), false),
        producer_(graph_.tensors.size(), -1),
        written_(graph_.tensors.size(), false),
        written_whole_(graph_.tensors.size(), false) {
    for (const BodyOp& op : body.forward)
      if (!op.communication) computes_[op.node.value] = true;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n)
      for (TensorId out : graph_.nodes[n].outputs)
        producer_[out.value] = static_cast<std::int32_t>(n);
    fact_of_.resize(graph_.nodes.size());
    for (std::size_t s = 0; s < body.saved.size(); ++s)
      if (!body.saved[s].tensor.valid())
        fact_of_[body.saved[s].producer.value].push_back(static_cast<std::int32_t>(s));
  }

  LayerLayout find(bool first_block) {
    LayerLayout layout;
    layout.graph = &graph_;
    layout.body = &body_;
    made_.assign(graph_.tensors.size(), false);
    for (std::size_t i = 0; i < body_.forward.size(); ++i)
      layout.forward.push_back(forward_op(body_.forward, i, false));
    // This is not simply the first op, which may gather the layer's weights long before the input
    // arrives.
    if (const std::uint32_t entry = first_op(body_.forward); entry != kNoOp) {
      const std::size_t end = body_.forward.size() - 1;
      make_value(graph_.output, end, false, layout.forward[end].runs);
      layout.input = value(graph_.input, entry, false, false);
      layout.side = value(graph_.side_input, entry, false, false);
      layout.output = value(graph_.output, end, false, false);
      layout.forward[end].last = true;
      assert((!graph_.input.valid() || layout.input.there()) &&
             "a layer has a place for its input");
    }
    find_backward(layout);
    find_data(layout, first_block);
    return layout;
  }

 private:
  // --- where things are ---

  Operand saved(TensorId tensor, bool recomputed) const {
    for (std::size_t s = 0; s < body_.saved.size(); ++s)
      if (body_.saved[s].tensor == tensor && body_.saved[s].recomputed == recomputed)
        return {Operand::Where::Saved, static_cast<std::int32_t>(s), tensor};
    return {};
  }

  Operand transient(TensorId tensor, std::size_t at, bool backward, bool gradient,
                    bool whole) const {
    for (std::size_t i = 0; i < body_.transients.size(); ++i) {
      const Transient& t = body_.transients[i];
      if (t.tensor == tensor && t.gradient == gradient && t.backward == backward &&
          (t.form == Transient::Form::Whole) == whole && t.from <= at && at <= t.to)
        return {Operand::Where::Transient, static_cast<std::int32_t>(i), tensor, whole};
    }
    return {};
  }

  Operand value(TensorId tensor, std::size_t at, bool backward, bool whole) const {
    if (!tensor.valid()) return {};
    if (graph_[tensor].kind == TensorKind::Parameter)
      return {Operand::Where::Parameter, static_cast<std::int32_t>(tensor.value), tensor};
    if (whole) return transient(tensor, at, backward, false, true);
    if (const Operand kept = saved(tensor, false); kept.there()) return kept;
    if (backward)
      if (const Operand rebuilt = saved(tensor, true); rebuilt.there()) return rebuilt;
    return transient(tensor, at, backward, false, false);
  }

  Operand gradient(TensorId tensor, std::size_t at, bool whole) const {
    if (!tensor.valid() || graph_[tensor].kind != TensorKind::Activation) return {};
    return transient(tensor, at, true, true, whole);
  }

  // The gradient to which a node adds what reaches its input: what enters the tensor region has a
  // tensor of its own where it is reduced before other parts join it.
  Operand gradient_for(const Node& node, std::size_t input, std::size_t at) const {
    if (enters_region(node, input))
      if (const Operand whole = gradient(node.inputs[input], at, true);
          whole.there() || reads_whole(node, input))
        return whole;
    return gradient(node.inputs[input], at, false);
  }

  bool divided(TensorId tensor) const {
    if (!sequence_parallel_) return false;
    const Shape& shape = graph_[tensor].shape;
    return std::any_of(shape.begin(), shape.end(),
                       [](const Dim& d) { return d.axis == Axis::SequenceRegion; });
  }
  // Tensor ranks of whole experts multiply each their own copies of tokens.
  bool meets_others(const Node& node) const {
    return !whole_experts_ || node.op != &routed_matmul();
  }
  bool reads_whole(const Node& node, std::size_t input) const {
    return takes_whole(node, input) && meets_others(node) && divided(node.inputs[input]);
  }
  bool writes_whole(const Node& node) const {
    return (node.split == TensorSplit::Row || node.split == TensorSplit::Vocab) &&
           meets_others(node) && divided(node.outputs[0]);
  }

  bool is_view(std::int32_t node) const {
    return node >= 0 && !computes_[static_cast<std::size_t>(node)];
  }

  // --- forward, and forward done again ---

  KernelRun run_forward(std::uint32_t n, std::size_t at, bool backward) {
    const Node& node = graph_.nodes[n];
    KernelRun run{{n}, Pass::Forward, {}, {}, {}, {}, {}, fact_of_[n]};
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      run.inputs.push_back(value(node.inputs[i], at, backward, reads_whole(node, i)));
    for (TensorId out : node.outputs) {
      run.outputs.push_back(value(out, at, backward, writes_whole(node)));
      made_[out.value] = true;
    }
    return run;
  }

  // Adds the views that lead to a tensor and have not run yet.
  void make_value(TensorId tensor, std::size_t at, bool backward, std::vector<KernelRun>& runs) {
    if (!tensor.valid()) return;
    const std::int32_t from = producer_[tensor.value];
    if (made_[tensor.value] || !is_view(from)) return;
    if (backward && saved(tensor, false).there()) return;  // kept since forward
    for (TensorId in : graph_.nodes[static_cast<std::size_t>(from)].inputs)
      make_value(in, at, backward, runs);
    runs.push_back(run_forward(static_cast<std::uint32_t>(from), at, backward));
  }

  OpRun forward_op(const std::vector<BodyOp>& ops, std::size_t at, bool backward) {
    const BodyOp& op = ops[at];
    OpRun made;
    if (op.communication) {
      collective(op, at, backward, made);
      return made;
    }
    for (TensorId in : graph_[op.node].inputs) make_value(in, at, backward, made.runs);
    if (is_cast(op)) return made;  // the product casts its operands itself
    made.runs.push_back(run_forward(op.node.value, at, backward));
    return made;
  }

  void collective(const BodyOp& op, std::size_t at, bool backward, OpRun& made) {
    if (op.group == Group::Expert) {
      const Node& node = graph_[op.node];
      const TensorId copies = node.op == &dispatch() ? node.outputs[0] : node.inputs[0];
      made.of_gradient = backward && !op.recomputed;
      made.from = made.to =
          made.of_gradient ? gradient(copies, at, false) : value(copies, at, backward, false);
    }
    if (is_context(op.group) && op.collective == CollectiveKind::AllToAll)
      return exchange_heads(op, at, backward, made);
    if (averages_means(graph_, op)) return average_means(op, at, backward, made);
    if (is_context(op.group) && op.collective == CollectiveKind::AllGather)
      for (std::size_t i : {1u, 2u})
        if (const TensorId in = graph_[op.node].inputs[i];
            !backward || op.recomputed || saved(in, true).there())
          make_value(in, at, backward, made.runs);
    if (!op.tensor.valid()) return;
    const auto of = [&](bool whole) {
      return op.of_gradient ? gradient(op.tensor, at, whole)
                            : value(op.tensor, at, backward, whole);
    };
    const bool gathers = op.collective == CollectiveKind::AllGather,
               scatters = op.collective == CollectiveKind::ReduceScatter;
    // Views that make the gradient of what the op gave run before it is exchanged.
    if (is_context(op.group) && op.of_gradient) make_gradient(op.tensor, at, made.runs);
    made.from = of(scatters);
    made.to = of(gathers);
    if (!op.of_gradient || gathers) return;
    if (const Operand apart = gradient(op.tensor, at, true); apart.there()) made.from = apart;
    if (!made.from.whole) return;
    made.adds = written_[op.tensor.value];
    written_[op.tensor.value] = true;
  }

  // The ranks look at what the norm reads, and exchange no tensor.
  void average_means(const BodyOp& op, std::size_t at, bool backward, OpRun& made) {
    const bool again = !backward || op.recomputed;
    if (again || saved(op.tensor, true).there()) make_value(op.tensor, at, backward, made.runs);
    if (!again) make_gradient(graph_[op.node].outputs[0], at, made.runs);
  }

  // Views that make what is exchanged run before.
  void exchange_heads(const BodyOp& op, std::size_t at, bool backward, OpRun& made) {
    made.of_gradient = op.of_gradient;
    if (!op.of_gradient)
      make_value(op.tensor, at, backward, made.runs);
    else if (graph_[op.node].outputs[0] == op.tensor)
      make_gradient(op.tensor, at, made.runs);
    made.from = made.to =
        op.of_gradient ? gradient(op.tensor, at, false) : value(op.tensor, at, backward, false);
  }

  // --- backward ---

  void find_backward(LayerLayout& layout) {
    made_.assign(graph_.tensors.size(), false);
    written_[graph_.output.value] = true;
    if (graph_.side_input.valid()) written_[graph_.side_input.value] = true;
    view_done_.assign(graph_.nodes.size(), false);
    std::int32_t first_input = -1, last_input = -1;
    for (std::size_t i = 0; i < body_.backward.size(); ++i) {
      const BodyOp& op = body_.backward[i];
      layout.backward.push_back(
          op.recomputed || op.communication ? forward_op(body_.backward, i, true) : backward_op(i));
      if (op.pass == Pass::BackwardInput || op.recomputed || op.communication) {
        if (first_input < 0) first_input = static_cast<std::int32_t>(i);
        if (op.pass != Pass::BackwardWeight) last_input = static_cast<std::int32_t>(i);
      } else {
        layout.last_weight = static_cast<std::int32_t>(i);
      }
    }
    if (body_.backward.empty()) return;
    const std::int32_t first = 0;
    const auto end = static_cast<std::size_t>(
        last_input >= 0 ? last_input : static_cast<std::int32_t>(body_.backward.size()) - 1);
    layout.backward[end].last = true;
    layout.output_gradient = gradient(graph_.output, first, false);
    if (!layout.output_gradient.there()) layout.output_gradient = first_gradient(graph_.output);
    layout.side_gradient = first_gradient(graph_.side_input);
    if (graph_.input.valid()) {
      make_gradient(graph_.input, end, layout.backward[end].runs);
      layout.input_gradient = gradient(graph_.input, end, false);
    }
  }

  // The gradient at its first appearance, for layers whose first backward ops recompute forward.
  Operand first_gradient(TensorId tensor) const {
    for (std::size_t i = 0; i < body_.backward.size(); ++i)
      if (const Operand found = gradient(tensor, i, false); found.there()) return found;
    return {};
  }

  // Views that read the tensor pass their gradients back before its gradient is read.
  void make_gradient(TensorId tensor, std::size_t at, std::vector<KernelRun>& runs) {
    for (std::uint32_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (view_done_[n] || computes_[n] ||
          std::find(node.inputs.begin(), node.inputs.end(), tensor) == node.inputs.end())
        continue;
      view_done_[n] = true;
      for (TensorId out : node.outputs) make_gradient(out, at, runs);
      runs.push_back(run_backward(n, Pass::BackwardInput, at));
    }
  }

  KernelRun run_backward(std::uint32_t n, Pass pass, std::size_t at) {
    const Node& node = graph_.nodes[n];
    KernelRun run{{n}, pass, {}, {}, {}, {}, {}, fact_of_[n]};
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const bool whole = reads_whole(node, i);
      run.inputs.push_back(value(node.inputs[i], at, true, whole));
      const bool wanted =
          pass == Pass::BackwardInput || weight_pass_reads_gradient(graph_, node, i);
      const Operand into = wanted ? gradient_for(node, i, at) : Operand{};
      std::vector<bool>& written = into.whole ? written_whole_ : written_;
      const TensorId in = node.inputs[i];
      run.adds.push_back(written[in.value] ? 1 : 0);
      if (into.there()) written[in.value] = true;
      run.input_gradients.push_back(into);
    }
    for (TensorId out : node.outputs) {
      run.outputs.push_back(value(out, at, true, false));
      run.output_gradients.push_back(gradient(out, at, writes_whole(node)));
    }
    return run;
  }

  OpRun backward_op(std::size_t at) {
    const BodyOp& op = body_.backward[at];
    OpRun made;
    if (is_cast(op)) return made;
    const Node& node = graph_[op.node];
    for (TensorId in : node.inputs)
      if (saved(in, true).there()) make_value(in, at, true, made.runs);
    for (TensorId out : node.outputs) make_gradient(out, at, made.runs);
    made.runs.push_back(run_backward(op.node.value, op.pass, at));
    return made;
  }

  // --- data ---

  void find_data(LayerLayout& layout, bool first_block) const {
    for (std::uint32_t t = 0; t < graph_.tensors.size(); ++t) {
      const Tensor& tensor = graph_.tensors[t];
      const bool outside = producer_[t] < 0 && tensor.kind != TensorKind::Parameter &&
                           (TensorId{t} != graph_.input || first_block) &&
                           TensorId{t} != graph_.side_input;
      if (!outside) continue;
      for (std::size_t i = 0; i < layout.forward.size(); ++i) {
        Operand found;
        for (const KernelRun& run : layout.forward[i].runs)
          for (const Operand& in : run.inputs)
            if (in.tensor == TensorId{t}) found = in;
        if (!found.there()) continue;
        layout.data.emplace_back(TensorId{t}, found);
        layout.data_at.push_back(static_cast<std::uint32_t>(i));
        break;
      }
    }
  }

  const Graph& graph_;
  const Body& body_;
  bool sequence_parallel_, whole_experts_;
  std::vector<bool> computes_;
  std::vector<std::int32_t> producer_;
  std::vector<bool> written_;        // by tensor: whether its gradient has been written
  std::vector<bool> written_whole_;  // the same of gradients that are yet to be reduced
  std::vector<bool> made_;           // by tensor: whether a view has made it in this phase
  std::vector<bool> view_done_;      // by node: whether a view has passed its gradient back
  std::vector<std::vector<std::int32_t>> fact_of_;
};

}  // namespace

LayerSizes layer_sizes(const Graph& graph, const Binding& binding, const Precision& precision) {
  return {binding, views(graph, binding, precision, false), views(graph, binding, precision, true)};
}

LayerLayout layer_layout(const Workload& w, const Body& body, bool first_block) {
  LayerLayout layout = Finder(w, body).find(first_block);
  layout.at_experts = copies_of_tokens(*layout.graph);
  static_cast<LayerSizes&>(layout) = layer_sizes(*layout.graph, body.binding, w.layout.precision);
  layout.narrow = multiplies_narrow(body);
  return layout;
}

}  // namespace trainyard
