#include "backends/cpu/calibration/rehearsal.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <new>
#include <set>
#include <utility>

#include "backends/cpu/calibration/lateness.h"
#include "backends/cpu/calibration/rehearsal_operands.h"
#include "backends/cpu/kernels/formats.h"
#include "backends/cpu/kernels/operands.h"
#include "backends/cpu/kernels/ops/vocab_loss.h"
#include "backends/cpu/kernels/product.h"
#include "backends/cpu/kernels/turned_heads.h"
#include "backends/documents.h"
#include "backends/executable.h"
#include "core/base/processor_time.h"
#include "core/base/random.h"
#include "core/methods/layers/context_region.h"
#include "core/methods/layers/weight_pass.h"
#include "core/methods/parallel/optimizer_norms.h"
#include "core/methods/precision/narrow_products.h"
#include "core/model/open_sizes.h"
#include "core/model/ops.h"
#include "core/model/trained_parts.h"
#include "core/training/optimizers/delayed_update.h"
#include "core/training/optimizers/formatted_rule.h"

namespace trainyard {

struct FreeAligned {
  void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t{64}); }
};
using AlignedBytes = std::unique_ptr<std::byte, FreeAligned>;

namespace {

AlignedBytes hold(Bytes bytes) {
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(64, bytes.value));
  AlignedBytes held(static_cast<std::byte*>(::operator new(count, std::align_val_t{64})));
  std::memset(held.get(), 0, count);
  return held;
}

}  // namespace

// The operands of a single layer.
struct Rehearsal::Layer {
  std::vector<AlignedBytes> held;
  std::vector<TensorView> tensors;           // by tensor of the graph
  std::vector<TensorView> weight_gradients;  // by tensor; parameters only
  std::vector<std::vector<FactView>> facts;  // by node
  std::vector<ParameterPart> parts;
  Routing routing;
  std::vector<std::vector<void*>> states;  // by part
  std::vector<std::vector<void*>> older;   // by part: versions of its weights, the oldest first

  TensorView take(TensorView view) {
    held.push_back(hold(view.bytes()));
    view.data = held.back().get();
    return view;
  }
  void* take(Bytes bytes) {
    held.push_back(hold(bytes));
    return held.back().get();
  }
};

// A body, and what its layers share.
struct Rehearsal::Kind {
  const Body* body = nullptr;
  const Graph* graph = nullptr;
  std::vector<bool> kept;             // by tensor: kept until backward, or from step to step
  Layer shared;                       // tensors that are not kept
  std::vector<TensorView> gradients;  // by tensor
  std::vector<Layer> layers;
  std::set<std::pair<const Layer*, std::uint32_t>> written;  // gradients written in this backward
  Binding binding;  // of the body, at the mean width of microbatches
};

namespace {

LocalNode local_node(const Workload& w, const Body& body, const Graph& graph, const Node& node) {
  return {graph, node, body.binding, w.layout.precision, w.layout.flash_attention};
}

std::vector<bool> kept_tensors(const Workload& w, const Body& body, const Graph& graph) {
  std::vector<bool> kept;
  for (const Tensor& tensor : graph.tensors) kept.push_back(tensor.kind != TensorKind::Activation);
  if (graph.input.valid()) kept[graph.input.value] = true;
  for (const Node& node : graph.nodes)
    for (const Saved& s : node.op->saved(local_node(w, body, graph, node)))
      if (s.tensor.valid()) kept[s.tensor.value] = true;
  return kept;
}

bool has_gradient(const Tensor& tensor) {
  return tensor.kind == TensorKind::Activation || tensor.kind == TensorKind::Statistic;
}

// The bytes of the operands that one layer has for itself.
Bytes layer_bytes(const Workload& w, const Body& body, const Graph& graph,
                  const std::vector<bool>& kept, int older_versions) {
  Bytes sum{};
  for (std::size_t t = 0; t < kept.size(); ++t) {
    const TensorView view = largest_view(w, body.binding, graph.tensors[t]);
    if (kept[t]) sum += view.bytes();
    if (graph.tensors[t].kind == TensorKind::Parameter)
      sum += Bytes{view.elements() *
                   (bytes_of(w.layout.precision.gradient) + w.layout.optimizer_bytes + 4 +
                    bytes_of(view.type) * older_versions)};
  }
  return sum + tensor_state_bytes(w.scenario.plan, w.scenario.model, body, w.layout);
}

// Runs a kernel; for a divided vocabulary it computes this device's part without the statistics of
// the others.
void run(const KernelCall& call, Pass pass) {
  const bool loss = call.node.op == &softmax_loss() && pass == Pass::Forward;
  if (!loss || !vocab_range(call, width(call.inputs[0])).divided) return run_kernel(call, pass);
  const Scratch::Frame frame(call.scratch);
  float* statistics = call.scratch.floats(kVocabStatistics * rows(call.inputs[0]));
  vocab_statistics(call, statistics);
  const float* own = statistics;
  combine_vocab_statistics({&own, 1}, rows(call.inputs[0]), statistics);
  vocab_loss(call, statistics);
}

// The products of muon, which are priced one by one, in the time of an update.
class TimedProducts {
 public:
  void operator()(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b,
                  bool b_transposed, float* c) {
    const Duration start = thread_processor_time();
    multiply_floats(m, n, k, a, b, b_transposed, c);
    const Duration taken = thread_processor_time() - start;
    time_ += taken;
    Alike& alike = of_sizes_[{m, n, k}];
    alike.time += taken, ++alike.count;
  }
  /// Returns the time of all products since it was last asked.
  Duration take_time() { return std::exchange(time_, Duration{}); }
  /// Returns the mean time of work of such sizes, which has been done.
  Duration of(const Work& work) const {
    const Alike& alike = of_sizes_.at({work.m, work.n, work.k});
    return alike.time / alike.count * work.count;
  }

 private:
  struct Alike {
    Duration time{};
    int count = 0;
  };
  std::map<std::array<std::int64_t, 3>, Alike> of_sizes_;
  Duration time_{};
};

// The pass of a forward that is repeated says in which part of backward that happens.
Pass kernel_pass(const BodyOp& op) { return op.recomputed ? Pass::Forward : op.pass; }

bool has_kernel(const BodyOp& op) { return !op.communication && op.node.valid() && !is_cast(op); }

// A rank's share of the copies is as many as it sends; they go to experts of its own here.
void share_copies(const Binding& binding, const Graph& graph, std::int64_t copies,
                  Routing& routing) {
  const std::int64_t experts = routed_experts(graph) / binding.ep;
  routing.held.resize(static_cast<std::size_t>(copies));
  for (std::size_t copy = 0; copy < routing.held.size(); ++copy)
    routing.held[copy] =
        static_cast<std::int32_t>(routing.chosen[copy % routing.chosen.size()] % experts);
}

}  // namespace

void Rehearsal::add_parameter(Layer& layer, std::size_t tensor, const TensorView& view,
                              const MatrixShape& shape, int older_versions) const {
  const Precision& precision = workload_.layout.precision;
  TensorView gradient = view;
  gradient.type = precision.gradient;
  gradient = layer.take(gradient);
  layer.weight_gradients.back() = gradient;
  ParameterPart part;
  part.elements = share(Bytes{view.elements()}, workload_.layout.optimizer_shards).value;
  part.weights = view.data, part.weight_type = view.type;
  part.gradients = gradient.data, part.gradient_type = gradient.type;
  part.decays = part.adapts = view.rank > 1;
  part.id = tensor;
  const TensorFormats formats = tensor_formats(workload_.scenario.plan);
  if (precision.master_weights && !formats.scaled_main)
    part.master =
        static_cast<float*>(layer.take(Bytes{(formats.remainder ? 2 : 4) * part.elements}));
  const int width = is_pure_bf16(weight_update_of(workload_.scenario.plan, precision)) ? 2 : 4;
  std::vector<void*> slots;
  for (const std::string_view slot : rule_->slots())
    slots.push_back(
        layer.take(Bytes{std::min(width, bytes_of(slot_format(formats, slot))) * part.elements}));
  if (derives_weights(delayed_))
    part.derived = static_cast<float*>(layer.take(Bytes{4 * part.elements}));
  part.shape = shape;
  if (const Bytes kept =
          tensor_state_bytes(workload_.scenario.plan, shape, 0, part.elements, width);
      kept.value > 0)
    part.tensor_state = layer.take(kept);
  std::vector<void*> older;
  for (int version = 0; version < older_versions; ++version) {
    older.push_back(layer.take(view.bytes()));
    std::memcpy(older.back(), view.data, static_cast<std::size_t>(view.bytes().value));
  }
  layer.older.push_back(std::move(older));
  layer.parts.push_back(part), layer.states.push_back(std::move(slots));
}

void Rehearsal::add_layer(Kind& kind, std::uint64_t stream, int older_versions) const {
  const Graph& graph = *kind.graph;
  Layer layer;
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    TensorView view = kind.shared.tensors[t];
    layer.weight_gradients.push_back({});
    if (!view.there()) {
      view = layer.take(largest_view(workload_, kind.binding, graph.tensors[t]));
      fill_tensor(kind.binding, graph, t, view, Random(stream, t));
    }
    layer.tensors.push_back(view);
    if (graph.tensors[t].kind == TensorKind::Parameter &&
        !is_frozen(graph, {static_cast<std::uint32_t>(t)}))
      add_parameter(layer, t, view,
                    matrix_shape(graph, {static_cast<std::uint32_t>(t)}, kind.body->binding),
                    older_versions);
  }
  for (const Node& node : graph.nodes) {
    std::vector<FactView> facts;
    for (const Saved& s : node.op->saved(local_node(workload_, *kind.body, graph, node)))
      if (!s.tensor.valid())
        facts.push_back(
            {s.what, layer.take(s.bytes), fact_type(s.what, workload_.layout.precision), s.bytes});
    layer.facts.push_back(std::move(facts));
  }
  kind.layers.push_back(std::move(layer));
}

void Rehearsal::add_kind(const Body& body, const std::vector<int>& older_versions, Bytes most) {
  auto kind = std::make_unique<Kind>();
  kind->body = &body;
  kind->binding = at_mean_width(body.binding);
  kind->graph = &workload_.scenario.model.blocks[static_cast<std::size_t>(body.block)].graph;
  const Graph& graph = *kind->graph;
  kind->kept = kept_tensors(workload_, body, graph);
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    TensorView passing, gradient;
    if (!kind->kept[t])
      fill_numbers(passing = kind->shared.take(largest_view(workload_, kind->binding, tensor)),
                   tensor.kind, Random(1, t));
    if (has_gradient(tensor))
      fill_numbers(gradient = kind->shared.take(largest_view(workload_, kind->binding, tensor)),
                   tensor.kind, Random(2, t));
    kind->shared.tensors.push_back(passing), kind->gradients.push_back(gradient);
  }
  const Bytes one = layer_bytes(workload_, body, graph, kind->kept,
                                *std::max_element(older_versions.begin(), older_versions.end()));
  const std::int64_t room =
      std::max<std::int64_t>(1, most.value / std::max<std::int64_t>(1, one.value));
  const std::size_t layers = older_versions.size() * static_cast<std::size_t>(replicas_);
  for (std::size_t l = 0; l < std::min(layers, static_cast<std::size_t>(room)); ++l)
    add_layer(*kind, 3 + kinds_.size() + 64 * static_cast<std::uint64_t>(l),
              older_versions[l / static_cast<std::size_t>(replicas_)]);
  kinds_.push_back(std::move(kind));
}

Rehearsal::Rehearsal(const Workload& workload, Bytes most, int jobs)
    : workload_(workload),
      replicas_(jobs *
                static_cast<int>(std::clamp<std::int64_t>(
                    workload.scenario.cluster.count / std::max(1, workload.scenario.plan.mesh.pp),
                    1, 64))),
      rule_(formatted_rule(
          tensor_formats(workload.scenario.plan),
          optimizer_rule(workload.scenario.plan.optimizer, {},
                         weight_update_of(workload.scenario.plan, workload.layout.precision),
                         halp_of(workload.scenario.plan)))),
      delayed_(late_rule(workload.scenario.plan)),
      documents_(has_open_widths(workload.layout.binding) ? std::nullopt
                                                          : document_stream(workload, 1)) {
  const std::vector<int> older = older_versions(workload);
  std::vector<std::vector<int>> older_of(workload.bodies.size());  // by layer of the body
  for (std::size_t stage = 0; stage < workload.runs.size(); ++stage)
    for (const Workload::Run& run : workload.runs[stage])
      for (int i = 0; i < run.count; ++i) {
        std::vector<int>& layers = older_of[static_cast<std::size_t>(run.body)];
        layers_.push_back({run.body, static_cast<int>(layers.size())});
        layers.push_back(older[stage]);
      }
  const Bytes each = share(most, static_cast<std::int64_t>(workload.bodies.size()));
  for (std::size_t b = 0; b < workload.bodies.size(); ++b) {
    if (older_of[b].empty()) older_of[b] = {0};
    add_kind(workload.bodies[b], older_of[b], each);
  }
}

Rehearsal::~Rehearsal() = default;

Rehearsal::Layer& Rehearsal::replica(Kind& kind, int layer, int replica) const {
  const auto index = static_cast<std::size_t>(layer) * static_cast<std::size_t>(replicas_) +
                     static_cast<std::size_t>(replica);
  return kind.layers[index % kind.layers.size()];
}

void Rehearsal::run(const Took& took) {
  const std::int64_t micro = workload_.layout.binding.micro_batch;
  if (documents_) bounds_ = documents_->bounds_alone(updates_ * micro, micro);
  for (const auto& [k, l] : layers_) {
    Kind& kind = *kinds_[static_cast<std::size_t>(k)];
    for (const BodyOp& op : kind.body->forward)
      for (int r = 0; r < replicas_; ++r) run_pass(kind, replica(kind, l, r), op, took);
  }
  for (auto it = layers_.rbegin(); it != layers_.rend(); ++it) {
    Kind& kind = *kinds_[static_cast<std::size_t>(it->first)];
    kind.written.clear();
    for (const BodyOp& op : kind.body->backward)
      for (int r = 0; r < replicas_; ++r) run_pass(kind, replica(kind, it->second, r), op, took);
  }
  for (const std::unique_ptr<Kind>& kind : kinds_) update(*kind, took);
  ++updates_;
}

Rehearsal::Bound Rehearsal::bind(Kind& kind, Layer& layer, const BodyOp& op) const {
  const Graph& graph = *kind.graph;
  const Node& node = graph[op.node];
  const Pass pass = kernel_pass(op);
  const bool forward = pass == Pass::Forward;
  Bound bound{&op, &kind, &layer, {}, {}, {}, {}, {}, {}};
  const auto seen = [&](TensorId id, const TensorView& view) {
    return seen_by(kind.binding, node, graph[id], view);
  };
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const TensorId id = node.inputs[i];
    bound.inputs.push_back(seen(id, layer.tensors[id.value]));
    const bool wanted =
        kind.gradients[id.value].there() &&
        (pass == Pass::BackwardInput || (!forward && weight_pass_reads_gradient(graph, node, i)));
    bound.input_gradients.push_back(wanted ? seen(id, kind.gradients[id.value]) : TensorView{});
    bound.adds.push_back(wanted && !kind.written.insert({&layer, id.value}).second);
    bound.weight_gradients.push_back(forward ? TensorView{} : layer.weight_gradients[id.value]);
  }
  for (const TensorId id : node.outputs) {
    bound.outputs.push_back(seen(id, layer.tensors[id.value]));
    bound.output_gradients.push_back(forward ? TensorView{} : seen(id, kind.gradients[id.value]));
  }
  return bound;
}

std::vector<Rehearsal::Bound> Rehearsal::bind(std::size_t body, const std::vector<BodyOp>& ops) {
  Kind& kind = *kinds_[body];
  kind.written.clear();
  std::vector<Bound> list;
  for (const BodyOp& op : ops)
    list.push_back(has_kernel(op)
                       ? bind(kind, kind.layers.front(), op)
                       : Bound{&op, &kind, &kind.layers.front(), {}, {}, {}, {}, {}, {}});
  return list;
}

void Rehearsal::run(const Bound& bound, Scratch& scratch) const {
  if (!has_kernel(*bound.op)) return;
  const Kind& kind = *bound.kind;
  const Graph& graph = *kind.graph;
  const Node& node = graph[bound.op->node];
  const int ranks =
      attends_over_ranks(node) ? kind.binding.cp / kind.binding.ulysses : kind.binding.cp;
  KernelCall call{.graph = graph,
                  .node = node,
                  .binding = kind.binding,
                  .flash_attention = workload_.layout.flash_attention,
                  .random = Random(bound.op->node.value),
                  .scratch = scratch,
                  .sequence = {0, ranks, kind.body->tensor_heads},
                  .routing = &bound.layer->routing};
  call.inputs = bound.inputs, call.outputs = bound.outputs;
  call.output_gradients = bound.output_gradients;
  call.input_gradients = bound.input_gradients, call.adds = bound.adds;
  call.weight_gradients = bound.weight_gradients;
  call.facts = bound.layer->facts[bound.op->node.value];
  if (documents_ && reads_documents(node)) call.documents = &bounds_;
  call.variants = variants_;
  trainyard::run(call, kernel_pass(*bound.op));
}

void Rehearsal::run_pass(Kind& kind, Layer& layer, const BodyOp& op, const Took& took) {
  if (!has_kernel(op)) return;
  const Graph& graph = *kind.graph;
  const Node& node = graph[op.node];
  Bound bound = bind(kind, layer, op);
  const Binding& binding = kind.binding;
  const Scratch::Frame frame(scratch_);
  if (attends_over_ranks(node)) {
    for (std::vector<TensorView>* list :
         {&bound.inputs, &bound.input_gradients, &bound.outputs, &bound.output_gradients})
      for (std::size_t i = 0; i < std::min<std::size_t>(3, list->size()); ++i)
        (*list)[i] = turned_to_heads((*list)[i], binding.ulysses);
    const int ranks = binding.cp / binding.ulysses;
    for (std::size_t i = 1; ranks > 1 && i < 3; ++i) {
      widen(bound.inputs[i], ranks, scratch_);
      widen(bound.input_gradients[i], ranks, scratch_);
    }
  }
  if (binding.cp > 1 && is_headwise_recurrence(node)) {
    const auto turn = [&](const std::vector<TensorId>& tensors, std::vector<TensorView>& list) {
      for (std::size_t i = 0; i < list.size(); ++i) {
        const auto copies = static_cast<int>(copies_of_groups(graph[tensors[i]], binding));
        if (copies == 1 || graph[tensors[i]].kind == TensorKind::Parameter) continue;
        widen(list[i], copies, scratch_);  // which makes room for them
        list[i].size[0] /= copies;
      }
      turn_recurrence(graph, tensors, binding, 0, list);
    };
    for (std::vector<TensorView>* list :
         {&bound.inputs, &bound.input_gradients, &bound.weight_gradients})
      turn(node.inputs, *list);
    for (std::vector<TensorView>* list : {&bound.outputs, &bound.output_gradients})
      turn(node.outputs, *list);
  }
  if (node.op == &routed_matmul())
    share_copies(binding, graph, rows(bound.inputs[0]), layer.routing);
  const Duration before = thread_processor_time();
  run(bound, scratch_);
  took(op.work, thread_processor_time() - before);
}

void Rehearsal::update(Kind& kind, const Took& took) {
  if (kind.body->update.empty()) return;
  StepFacts facts{.t = updates_, .rate = 1e-4, .gradient_scale = 1};
  correct(facts, delayed_);
  TimedProducts products;
  const MatrixProduct product = std::ref(products);
  facts.product = &product;
  for (Layer& layer : kind.layers) {
    const Duration before = thread_processor_time();
    Duration norms{};
    for (std::size_t i = 0; i < layer.parts.size(); ++i) {
      ParameterPart& part = layer.parts[i];
      part.state = layer.states[i];
      std::vector<void*>& older = layer.older[i];
      part.updated = older.empty() ? nullptr : older.front();
      TensorNorms found;
      if (rule_->needs_norms()) {
        const Duration start = thread_processor_time();
        found = rule_->norms(part, facts);
        norms += thread_processor_time() - start;
      }
      rule_->apply(part, facts, found);
      if (older.empty()) continue;
      std::rotate(older.begin(), older.begin() + 1, older.end());
      older.back() = std::exchange(part.weights, part.updated);
      layer.tensors[part.id].data = part.weights;
    }
    // Whatever consumes gradients clears them for the next step.
    for (const TensorView& g : layer.weight_gradients)
      if (g.there()) std::memset(g.data, 0, static_cast<std::size_t>(g.bytes().value));
    const Duration all = thread_processor_time() - before;
    took(kind.body->update.front().work, all - norms - products.take_time());
    for (const BodyOp& op : kind.body->update)
      if (op.work.kind == WorkKind::Product) took(op.work, products.of(op.work));
    if (const BodyOp* op = norms_op(*kind.body)) {
      // Replicas that share norms each advance all moments (LAMB), but LARS has none to advance.
      const Plan& plan = workload_.scenario.plan;
      const std::int64_t layers =
          std::max<std::int64_t>(1, layer_count(workload_.scenario.model) / plan.mesh.pp);
      const double share = rule_->norms_advance() ? 1 : found_share(plan, layers);
      took(op->work, seconds(share * to_seconds(norms)));
    }
  }
}

}  // namespace trainyard
