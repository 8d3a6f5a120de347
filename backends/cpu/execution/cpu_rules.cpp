// Implements what rules are shown of a step (core/rules/look.h): the devices note facts of the
// tensors that they hold while these are there, and the facts of all are added up afterwards.
#include <algorithm>
#include <cmath>

#include "backends/cpu/execution/seen_by_rules.h"
#include "core/model/document_bounds.h"
#include "core/model/layer_name.h"
#include "core/model/ops.h"
#include "core/rules/token_reader.h"

namespace trainyard {
namespace {

constexpr std::int64_t kMostClasses = 1000;  // of a classifier; beyond it they are words

bool is_activation_function(const Op* op) {
  return op == &relu() || op == &squared_relu() || op == &gelu() || op == &tanh_op();
}

// Rules read the units of functions that have an end at which they learn nothing.
bool has_dead_units(const Op* op) {
  return op == &relu() || op == &squared_relu() || op == &tanh_op() || op == &sigmoid_gate();
}

// A tanh saturates where its output is +-1 in four digits, the gate of a sigmoid where that is 0 or
// 1 in single precision.
ActiveRange active_range(const Op* op) {
  if (op == &tanh_op()) return {-0.9999f, 0.9999f};
  if (op == &sigmoid_gate()) return {-23.0f, 16.99999f};
  return {};
}

bool is_image(const TensorView& view) { return view.rank == 4 && view.type == DType::F32; }

}  // namespace

void CpuExecution::look(RuleReads reads) {
  sight_ = std::make_unique<RuleSight>();
  sight_->reads = reads;
  sight_->for_rules = true;
  sight_->devices.resize(devices_.size());
}

void CpuExecution::watch_numbers() {
  if (sight_ == nullptr) {
    sight_ = std::make_unique<RuleSight>();
    sight_->devices.resize(devices_.size());
  }
  sight_->numbers = std::make_unique<NumberSight>();
}

SeenNumbers CpuExecution::take_numbers() {
  SeenNumbers seen = std::move(sight_->numbers->seen());
  sight_->numbers.reset();
  if (!sight_->for_rules) sight_.reset();
  if (processes() == nullptr) return seen;
  std::vector<std::int64_t*> counts = {&seen.updates.asked, &seen.updates.cancelled};
  for (ExponentHistogram& one : seen.histograms) {
    for (std::int64_t& count : one.counts) counts.push_back(&count);
    counts.insert(counts.end(), {&one.zeros, &one.infinities, &one.nans});
  }
  std::vector<double> sums;  // exact below 2^53
  for (const std::int64_t* one : counts) sums.push_back(static_cast<double>(*one));
  processes()->sum(sums);
  for (std::size_t i = 0; i < counts.size(); ++i) *counts[i] = std::llround(sums[i]);
  return seen;
}

// A parameter that several devices update alike is seen on one of them.
bool CpuExecution::is_seen_on(std::size_t norm, std::size_t at, int peer) const {
  const bool second_copy = at > 0 && plan_.places[at - 1].stage == plan_.places[at].stage;
  return !second_copy && counts(norm, peer) && !is_tied_copy(norm);
}

// Called once a node has run forward, on the thread that ran it.
void CpuExecution::show_outputs(const At& a, std::size_t l, NodeId id, const KernelCall& call) {
  const Node& node = call.node;
  const RuleReads reads = sight_->reads;
  const bool outputs = has(reads, RuleReads::Outputs), function = is_activation_function(node.op);
  const bool gate = node.op == &sigmoid_gate();
  const TensorId made = node.outputs[0];
  if (function && sight_->numbers != nullptr) show_numbers(a, l, made, call.outputs[0]);
  const bool ends = made == call.graph.output && !plan_.last_stage(plan_.places[a.place]);
  if (outputs && gate)
    show_units(a, l, node.inputs[0], call.inputs[0], TensorRole::Output, id);
  else if (outputs && (function || ends))
    show_units(a, l, made, call.outputs[0], TensorRole::Output, id);
  if (has(reads, RuleReads::LayerInputs) && function)
    show_units(a, l, node.inputs[0], call.inputs[0], TensorRole::LayerInput, id);
  if (has(reads, RuleReads::Images)) show_images(a, l, call);
  if (has(reads, RuleReads::Tokens) && reads_tokens(call.graph, node)) show_tokens(a, call);
  if (has(reads, RuleReads::Answers) && node.op == &softmax_loss()) show_answers(a, call);
}

// Tensor ranks have parts of a tensor, or the whole of it each, which then counts once.
void CpuExecution::show_numbers(const At& a, std::size_t l, TensorId made, const TensorView& view) {
  const StagePlacement& place = plan_.places[a.place];
  const LayerLayout& layout = plan_.layouts[static_cast<std::size_t>(place.layers[l].layout)];
  std::int64_t divided = 1;
  for (const Dim& dim : (*layout.graph)[made].shape) divided *= parts(dim, layout.body->binding);
  const bool whole = divided < std::int64_t{plan_.peers.tp} * plan_.peers.cp;
  if (!view.there() || (whole && plan_.peers.tensor_rank(a.peer) != 0)) return;
  std::vector<float> copy;
  sight_->numbers->see(NumberClass::Activations,
                       as_floats(view.data, view.type, view.elements(), copy));
}

// Units are the channels of images, else the last dimension. Where tensor ranks divide it, each has
// some of the units.
void CpuExecution::show_units(const At& a, std::size_t l, TensorId tensor, const TensorView& view,
                              TensorRole role, NodeId node) {
  if (!view.there() || view.rank < 2) return;
  std::vector<float> copy;
  const std::span<const float> values = as_floats(view.data, view.type, view.elements(), copy);
  if (values.empty()) return;
  const StagePlacement& place = plan_.places[a.place];
  const LayerLayout& layout = plan_.layouts[static_cast<std::size_t>(place.layers[l].layout)];
  const bool input = role == TensorRole::LayerInput;
  const Op* const op = layout.graph->nodes[node.value].op;
  TensorFacts facts =
      facts_of(values, 1,
               input || has(sight_->reads, RuleReads::Moments) ? FactKinds::All : FactKinds::Sizes);
  if (input || (has(sight_->reads, RuleReads::Units) && has_dead_units(op))) {
    const std::size_t dim = view.rank == 4 ? 1 : static_cast<std::size_t>(view.rank) - 1;
    const std::int64_t inner = view.rank == 4 ? view.size[2] * view.size[3] : 1,
                       own = view.size[dim];
    const Shape& shape = (*layout.graph)[tensor].shape;
    const std::int64_t all = dim < shape.size() ? parts(shape[dim], layout.body->binding) : 1;
    const std::vector<UnitFacts> units = input ? unit_moments(values, own, inner)
                                               : active_units(values, own, inner, active_range(op));
    const std::int64_t first =
        part_of_rank(all, plan_.peers.tensor_rank(a.peer), plan_.peers.tp) * own;
    facts.units.resize(static_cast<std::size_t>(all * own));
    std::copy(units.begin(), units.end(), facts.units.begin() + first);
  }
  SeenByRules& seen = seen_on(place.device, a.peer);
  const std::scoped_lock hold(*seen.lock);
  seen.tensors[{role, static_cast<std::uint32_t>(a.place), static_cast<std::uint32_t>(l),
                node.value}] += facts;
}

void CpuExecution::show_answers(const At& a, const KernelCall& call) {
  if (plan_.peers.tensor_rank(a.peer) != 0 || plan_.peers.context_rank(a.peer) != 0) return;
  const TensorView &logits = call.inputs[0], &labels = call.inputs[1];
  if (!logits.there() || labels.rank != 1) return;
  const std::int64_t rows = labels.elements(), columns = logits.elements() / rows,
                     classes = std::max<std::int64_t>(2, columns);
  std::vector<float> copy;
  const std::span<const float> values =
      as_floats(logits.data, logits.type, logits.elements(), copy);
  if (classes > kMostClasses || values.empty()) return;
  SeenByRules& seen = seen_on(plan_.places[a.place].device, a.peer);
  const std::scoped_lock hold(*seen.lock);
  seen.answers.classes = classes;
  seen.answers.counts.resize(static_cast<std::size_t>(classes * classes));
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t label = labels.i64()[r];
    if (label == kPaddingLabel) continue;
    const float* const row = values.data() + r * columns;
    // A single logit is the log odds of the second of two classes.
    const std::int64_t likely =
        columns == 1 ? row[0] > 0 : std::max_element(row, row + columns) - row;
    ++seen.answers.counts[static_cast<std::size_t>(label * classes + likely)];
  }
}

// Images are seen by the first node that reads them, of whatever ranks have parts of them.
void CpuExecution::show_images(const At& a, std::size_t l, const KernelCall& call) {
  const StagePlacement& place = plan_.places[a.place];
  if (place.layers[l].model_layer > 0 || plan_.peers.tensor_rank(a.peer) != 0) return;
  const LayerLayout& layout = plan_.layouts[static_cast<std::size_t>(place.layers[l].layout)];
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const TensorId id = call.node.inputs[i];
    const bool data = std::any_of(layout.data.begin(), layout.data.end(),
                                  [&](const auto& one) { return one.first == id; });
    if (!data || !call.inputs[i].there() || !is_image(call.inputs[i])) continue;
    const auto first_reader =
        std::find_if(call.graph.nodes.begin(), call.graph.nodes.end(), [&](const Node& node) {
          return std::find(node.inputs.begin(), node.inputs.end(), id) != node.inputs.end();
        });
    if (&*first_reader != &call.node) continue;
    TensorFacts facts =
        facts_of({call.inputs[i].f32(), static_cast<std::size_t>(call.inputs[i].elements())});
    const bool whole = plan_.peers.context_rank(a.peer) == 0;
    facts.units = {{whole ? static_cast<double>(call.inputs[i].size[0]) : 0, 0, 0, 0}};
    SeenByRules& seen = seen_on(place.device, a.peer);
    const std::scoped_lock hold(*seen.lock);
    seen.tensors[{TensorRole::Image, static_cast<std::uint32_t>(a.place),
                  static_cast<std::uint32_t>(l), id.value}] += facts;
  }
}

// Every tensor rank reads all tokens, each context rank its own part of them.
void CpuExecution::show_tokens(const At& a, const KernelCall& call) {
  const TensorView& ids = call.inputs[0];
  if (plan_.peers.tensor_rank(a.peer) != 0 || !ids.there()) return;
  SeenByRules& seen = seen_on(plan_.places[a.place].device, a.peer);
  const std::scoped_lock hold(*seen.lock);
  for (std::int64_t i = 0; i < ids.elements(); ++i) ++seen.tokens[ids.i64()[i]];
}

Look CpuExecution::take_look() {
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (devices_[d] == nullptr || !here(devices_[d]->device(), devices_[d]->peer())) continue;
    const Arena& arena = devices_[d]->arena();
    const Bytes limit = options_.memory_limit.value > 0
                            ? options_.memory_limit
                            : plan_.workload.scenario.cluster.device.memory.value;
    sight_->devices[d].held = {static_cast<int>(devices_[d]->device().value), devices_[d]->peer(),
                               total(arena.held()), arena.most(), limit};
  }
  if (processes() != nullptr) {
    std::vector<SeenByRules> all(devices_.size());
    for (const std::string& bytes : processes()->all_gather(pack_seen(sight_->devices)))
      unpack_seen(bytes, all);
    sight_->devices = std::move(all);
  }
  Look look;
  look.step = updates_;
  look.skipped = skip_;
  look.loss_scale = scales_loss_ ? scaler_.scale() : 0;
  look.first_loss_scale = training_.loss_scale;
  look.least_loss_scale = training_.least_scale;
  look.overflows = scaler_.skipped();
  std::map<SeenTensor, TensorFacts> tensors;
  for (const SeenByRules& seen : sight_->devices) {
    for (const auto& [tensor, facts] : seen.tensors) tensors[tensor] += facts;
    for (const auto& [token, count] : seen.tokens) look.tokens[token] += count;
    if (seen.held.most.value > 0) look.held.push_back(seen.held);
    if (seen.answers.classes == 0) continue;
    look.answers.classes = seen.answers.classes;
    look.answers.counts.resize(seen.answers.counts.size());
    for (std::size_t i = 0; i < look.answers.counts.size(); ++i)
      look.answers.counts[i] += seen.answers.counts[i];
  }
  for (auto& [tensor, facts] : tensors) look.tensors.push_back(looked(tensor, std::move(facts)));
  sight_.reset();
  return look;
}

LookedTensor CpuExecution::looked(const SeenTensor& seen, TensorFacts facts) const {
  const StagePlacement& place = plan_.places[seen.place];
  const PlacedLayer& layer = place.layers[seen.layer];
  LookedTensor made;
  made.role = seen.role;
  made.layer = layer.model_layer;
  made.device = static_cast<int>(place.device.value);
  made.where = layer_name(plan_.workload.scenario.model, static_cast<std::size_t>(made.layer));
  made.facts = std::move(facts);
  const Graph& graph = *plan_.layouts[static_cast<std::size_t>(layer.layout)].graph;
  switch (seen.role) {
    case TensorRole::Gradient:
    case TensorRole::Weight:
    case TensorRole::Update:
      made.name = layer.parameters[seen.index].name;
      made.matrix = layer.parameters[seen.index].matrix;
      break;
    case TensorRole::Output:
    case TensorRole::LayerInput:
      made.name = graph.nodes[seen.index].name;
      made.op = std::string(graph.nodes[seen.index].op->name);
      break;
    case TensorRole::Image:
      made.name = graph.tensors[seen.index].name;
      break;
  }
  return made;
}

}  // namespace trainyard
