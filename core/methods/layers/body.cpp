#include "core/methods/layers/body.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/methods/layers/saved_tensors.h"
#include "core/model/open_sizes.h"
#include "core/model/ops.h"
#include "core/model/trained_parts.h"

namespace trainyard {
namespace {

constexpr std::string_view kStep = "write_body";

bool empty(const Work& work) {
  return work.flops.value == 0 && work.read.value == 0 && work.written.value == 0;
}

bool is_expert(const Tensor& tensor) {
  return std::any_of(tensor.shape.begin(), tensor.shape.end(),
                     [](const Dim& d) { return d.axis == Axis::Experts; });
}

LocalParameters local_parameters(const Graph& graph, const Layout& layout) {
  LocalParameters sum;
  const std::vector<bool> is_frozen = frozen_parameters(graph);
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const Tensor& t = graph.tensors[i];
    if (t.kind != TensorKind::Parameter) continue;
    const bool shared = !t.tied_to.empty() && !layout.tied_copies, frozen = is_frozen[i];
    const std::int64_t elements = local_elements(t.shape, layout.binding);
    if (shared)
      (frozen ? sum.frozen_shared : sum.shared) += elements;
    else if (is_expert(t))
      (frozen ? sum.frozen_expert : sum.expert) += elements;
    else
      (frozen ? sum.frozen_dense : sum.dense) += elements;
  }
  return sum;
}

NodeId node_id(std::size_t i) { return NodeId{static_cast<std::uint32_t>(i)}; }

// A norm's input and what layers hand on are wider than the products' format under autocast.
Bytes bytes_between_layers(const Tensor& tensor, const Layout& layout) {
  const Bytes bytes = local_bytes(tensor, layout.binding, layout.precision);
  const bool wide = layout.framework.wide_between_layers && layout.precision.master_weights;
  return wide ? Bytes{bytes.value * 4 / bytes_of(layout.precision.activation)} : bytes;
}

bool is_norm(const Op* op) { return op == &layer_norm() || op == &rms_norm(); }

// SavedList collects the tensors that ops save. Ops that save the same tensor share it, and it is
// freed by the first of them in forward order, whose backward runs last.
class SavedList {
 public:
  SavedList(const Graph& graph, const Layout& layout) : graph_(graph), layout_(layout) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      for (TensorId out : graph.nodes[i].outputs) producer_[out] = node_id(i);
  }

  void add(std::size_t node, const Saved& saved) {
    if (!saved.tensor.valid()) {
      list_.push_back({graph_.nodes[node].name + " " + std::string(saved.what), node_id(node),
                       node_id(node), saved.for_weight, saved.for_weight ? node_id(node) : NodeId{},
                       saved.attention_core, false, saved.bytes, TensorId{}, saved.what});
      return;
    }
    const Tensor& tensor = graph_[saved.tensor];
    if (tensor.kind == TensorKind::Parameter) return;  // parameters are held anyway
    const auto [entry, is_new] = index_.try_emplace(saved.tensor, list_.size());
    if (is_new) {
      const auto made = producer_.find(saved.tensor);
      list_.push_back({tensor.name,
                       made == producer_.end() ? NodeId{} : made->second,
                       node_id(node),
                       false,
                       {},
                       saved.attention_core,
                       false,
                       is_norm(graph_.nodes[node].op)
                           ? bytes_between_layers(tensor, layout_)
                           : local_bytes(tensor, layout_.binding, layout_.precision),
                       saved.tensor,
                       {}});
    }
    SavedTensor& kept = list_[entry->second];
    kept.attention_core = kept.attention_core && saved.attention_core;
    if (saved.for_weight && !kept.for_weight)
      kept.for_weight = true, kept.last_weight_user = node_id(node);
  }

  std::vector<SavedTensor> take() { return std::move(list_); }

 private:
  const Graph& graph_;
  const Layout& layout_;
  std::map<TensorId, NodeId> producer_;
  std::map<TensorId, std::size_t> index_;
  std::vector<SavedTensor> list_;
};

// Returns by tensor whether its gradient is needed.
std::vector<bool> wanted_gradients(const Model& model, int block) {
  if (!any_frozen(model)) return {};
  const Graph& graph = model.blocks[static_cast<std::size_t>(block)].graph;
  std::vector<bool> wanted(graph.tensors.size());
  const bool below = wants_input_gradient(model, block);
  for (TensorId id : {graph.input, graph.side_input})
    if (id.valid()) wanted[id.value] = below;
  for (const Node& node : graph.nodes) {
    bool any = false;
    for (TensorId in : node.inputs)
      any |= graph[in].kind == TensorKind::Parameter ? !is_frozen(node) : wanted[in.value];
    for (TensorId out : node.outputs) wanted[out.value] = any;
  }
  return wanted;
}

// Returns whether an op runs in that pass of backward: it has one, and what it makes is needed. An
// op without a pass for its weights makes their gradients beside those of its inputs.
bool runs_backward(const LocalNode& local, Pass pass, const std::vector<bool>& wanted) {
  const Node& node = local.node;
  if (empty(node.op->work(local, pass))) return false;
  if (wanted.empty()) return true;
  if (pass == Pass::BackwardWeight) return !is_frozen(node);
  const bool makes_weights = !is_frozen(node) && empty(node.op->work(local, Pass::BackwardWeight));
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorId in) {
    return local.graph[in].kind == TensorKind::Parameter ? makes_weights : wanted[in.value];
  });
}

BodyOp compute_op(const LocalNode& local, std::size_t i, Pass pass, Work work) {
  BodyOp op;
  op.name = local.node.name;
  op.pass_name = kStep;
  op.node = node_id(i);
  op.pass = pass;
  op.work = work;
  op.work.kernel = kernel_of(*local.node.op, pass);
  return op;
}

// Returns the bytes of weights in the layout's format, and of narrow ones of `each` bytes.
Bytes weight_bytes(std::int64_t wide, std::int64_t narrow, double each, const Layout& layout) {
  return Bytes{wide * bytes_of(layout.precision.parameter) +
               std::llround(static_cast<double>(narrow) * each)};
}

// Returns how many elements one of the ranks that divide them holds.
std::int64_t share_of(const Body& body, std::int64_t elements, std::int64_t narrow,
                      std::int64_t shards) {
  const std::int64_t apart = body.narrow.apart ? narrow : 0;
  return share(Bytes{elements - apart}, shards).value + share(Bytes{apart}, shards).value;
}

}  // namespace

std::vector<Saved> saved_for_backward(const LocalNode& local, const std::vector<bool>& wanted) {
  std::vector<Saved> list = local.node.op->saved(local);
  if (wanted.empty()) return list;
  const bool input = runs_backward(local, Pass::BackwardInput, wanted),
             weight = runs_backward(local, Pass::BackwardWeight, wanted);
  for (Saved& saved : list) saved.for_weight = saved.for_weight && weight;
  std::erase_if(list, [&](const Saved& s) { return !s.for_weight && !(s.for_input && input); });
  return list;
}

Body write_body(const Model& model, int block, const Layout& layout) {
  const Graph& graph = model.blocks[static_cast<std::size_t>(block)].graph;
  Body body;
  body.block = block;
  body.binding = layout.binding;
  body.tensor_heads = layout.tensor_heads;
  SavedList saved(graph, layout);
  const auto local = [&](std::size_t i) {
    return LocalNode{graph, graph.nodes[i], layout.binding, layout.precision,
                     layout.flash_attention};
  };
  body.wanted = wanted_gradients(model, block);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    for (const Saved& s : saved_for_backward(local(i), body.wanted)) saved.add(i, s);
  const Binding priced = at_mean_width(layout.binding);
  const auto work_of = [&](std::size_t i, Pass pass) {
    const LocalNode node{graph, graph.nodes[i], priced, layout.precision, layout.flash_attention};
    return node.node.op->work(node, pass);
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const LocalNode node = local(i);
    if (const Work work = work_of(i, Pass::Forward); !empty(work))
      body.forward.push_back(compute_op(node, i, Pass::Forward, work));
  }
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const LocalNode node = local(i);
    for (Pass pass : {Pass::BackwardInput, Pass::BackwardWeight})
      if (runs_backward(node, pass, body.wanted))
        body.backward.push_back(compute_op(node, i, pass, work_of(i, pass)));
  }
  body.parameters = local_parameters(graph, layout);
  const auto boundary = [&](TensorId id) {
    return id.valid() ? bytes_between_layers(graph[id], layout) : Bytes{};
  };
  // The first layer that reads a side input takes it from the layer before as its only input.
  body.input = boundary(graph.input) +
               (graph.side_input == graph.input ? Bytes{} : boundary(graph.side_input));
  body.output = boundary(graph.output) + boundary(graph.side_input);
  body.saved = saved.take();

  Work update;
  update.kind = WorkKind::Optimizer;
  const std::int64_t touched = updated_share(body, layout);
  update.read = Bytes{touched * layout.optimizer_touched_bytes / 2};
  update.written = Bytes{touched * layout.optimizer_touched_bytes} - update.read;
  if (touched > 0 && !layout.host_optimizer) {
    BodyOp op;
    op.name = "optimizer";
    op.pass_name = "update_weights";
    op.work = update;
    body.update.push_back(std::move(op));
  }
  return body;
}

void note_neighbours(Body& body) {
  for (std::vector<BodyOp>* ops : {&body.forward, &body.backward}) {
    Bytes before{};
    for (BodyOp& op : *ops) {
      if (op.communication) continue;
      op.work.before = before;
      before = op.work.read + op.work.written;
    }
  }
}

Bytes saved_bytes(const Body& body) {
  Bytes sum{};
  for (const SavedTensor& s : body.saved) sum += s.recomputed ? Bytes{} : s.bytes;
  return sum;
}

Bytes recomputed_bytes(const Body& body) {
  Bytes sum{};
  for (const SavedTensor& s : body.saved) sum += s.recomputed ? s.bytes : Bytes{};
  return sum;
}

Bytes gathered_bytes(const Body& body, std::int64_t parameters, std::int64_t narrow,
                     const Layout& layout) {
  return weight_bytes(parameters - narrow, narrow, body.narrow.gathered, layout);
}

std::int64_t trained_share(const Body& body, std::int64_t shards, std::int64_t expert_shards) {
  return share_of(body, body.parameters.dense, body.narrow.dense, shards) +
         share_of(body, body.parameters.expert, body.narrow.expert, expert_shards);
}

std::int64_t updated_share(const Body& body, const Layout& layout) {
  return trained_share(body, layout.optimizer_shards, layout.expert_optimizer_shards);
}

std::int64_t optimizer_share(std::int64_t parameters, std::int64_t shards, const Layout& layout) {
  const std::int64_t multiple = layout.optimizer_multiple;
  return share(share(Bytes{parameters}, shards), multiple).value * multiple;
}

Bytes gradient_bytes(std::int64_t parameters, const Layout& layout) {
  return Bytes{parameters * bytes_of(layout.precision.gradient)};
}

StateBytes state_bytes(const Body& body, const Layout& layout) {
  const LocalParameters& p = body.parameters;
  const NarrowWeights& n = body.narrow;
  const int optimizer = layout.optimizer_bytes + (layout.precision.master_weights ? 4 : 0);
  const auto trained = [&](int each, std::int64_t shards, std::int64_t expert_shards) {
    return Bytes{trained_share(body, shards, expert_shards) * each};
  };
  const FrameworkMemory& framework = layout.framework;
  const bool mixed = layout.precision.master_weights;
  const auto weights = [&](std::int64_t elements, std::int64_t narrow, std::int64_t shards,
                           bool frozen) {
    const bool master =
        framework.shards_are_master && mixed && shards > 1 && !layout.host_optimizer;
    const std::int64_t held = share_of(body, elements, narrow, shards),
                       held_narrow = share(Bytes{narrow}, shards).value;
    if (master) return frozen ? Bytes{held * bytes_of(DType::F32)} : Bytes{};
    return weight_bytes(held - held_narrow, held_narrow, n.kept, layout);
  };
  const auto gradients = [&](int each) {
    return trained(each, layout.gradient_shards, layout.expert_gradient_shards);
  };
  const auto optimizer_parts = [&](int each) {
    const std::int64_t apart = n.apart ? n.dense : 0, expert_apart = n.apart ? n.expert : 0;
    std::int64_t sum = 0;
    for (const std::int64_t part : {p.dense - apart, apart})
      sum += optimizer_share(part, layout.optimizer_shards, layout);
    for (const std::int64_t part : {p.expert - expert_apart, expert_apart})
      sum += optimizer_share(part, layout.expert_optimizer_shards, layout);
    return Bytes{sum * each};
  };
  return {weights(p.dense, n.dense, layout.weight_shards, false) +
              weights(p.expert, n.expert, layout.expert_weight_shards, false) +
              weights(p.frozen_dense, n.frozen_dense, layout.weight_shards, true) +
              weights(p.frozen_expert, n.frozen_expert, layout.expert_weight_shards, true),
          gradients(bytes_of(layout.precision.gradient)) +
              gradients(mixed ? framework.gradient_bytes : 0) +
              optimizer_parts(mixed ? framework.gradient_part_bytes : 0),
          layout.host_optimizer ? Bytes{} : optimizer_parts(optimizer), body.resident};
}

}  // namespace trainyard
