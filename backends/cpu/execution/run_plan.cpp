#include "backends/cpu/execution/run_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "backends/cpu/execution/exchange/partial_gradient.h"
#include "backends/stage_place.h"
#include "core/lowering/host_memory.h"
#include "core/methods/precision/narrow_products.h"
#include "core/model/reference.h"
#include "core/model/trained_parts.h"

namespace trainyard {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t product(const std::vector<std::int64_t>& shape) {
  std::int64_t n = 1;
  for (std::int64_t d : shape) n *= d;
  return n;
}

// A table is read by rows, but a product reads it as [in, out].
bool read_by_product(const Graph& graph, TensorId tensor) {
  for (const Node& node : graph.nodes)
    if (std::find(node.inputs.begin(), node.inputs.end(), tensor) != node.inputs.end())
      return node.op->name == "matmul";
  return false;
}

}  // namespace

RunPlan::RunPlan(const Workload& w, const Program& p) : workload(w), program(p) {
  peers.tp = w.layout.binding.tp;
  peers.dp = static_cast<int>(p.replicas) / peers.tp;
  peers.cp = w.layout.binding.cp;
  peers.ulysses = w.layout.binding.ulysses;
  peers.ep = w.layout.binding.ep;
  peers.whole_experts = w.layout.binding.whole_experts;
  const std::string& rank_order = w.scenario.plan.mesh.order;
  peers.contexts_side_by_side = rank_order.find("cp") < rank_order.find("dp");
  peers.experts_side_by_side = rank_order.find("ep") < rank_order.find("dp");
  peers.shard = static_cast<int>(std::max<std::int64_t>(1, p.shard));
  for (const Body& body : w.bodies) layouts.push_back(layer_layout(w, body, body.block == 0));
  devices_.resize(p.instructions.size());
  for (const Stream& stream : p.streams)
    std::fill_n(devices_.begin() + stream.first, stream.count, stream.device.value);
  asynchronous = has_updates(order(w, schedule_shape(w)));
  if (const std::optional<HostMemory> held = host_memory(w)) host = held->device;
  add_places();
  find_shared();
  if (w.layout.nvme_optimizer) find_state_on_nvme();
  find_buffers();
  count_waves();
  make_groups();
}

void RunPlan::add_places() {
  const int per_stage = copies(program.placement);
  for (std::uint32_t s = 0; s < workload.runs.size(); ++s)
    for (int copy = 0; copy < per_stage; ++copy) {
      StagePlacement place;
      place.stage = {s};
      place.device =
          trainyard::device_of({s}, program.devices, program.stages, program.placement, copy);
      for (const Workload::Run& run : workload.runs[s])
        for (int i = 0; i < run.count; ++i) add_layer(place, run, i);
      const std::int64_t wide = bytes_of(workload.layout.precision.parameter);
      for (PlacedLayer& layer : place.layers)
        for (StatePart& part : layer.parts) {
          if (part.held.codes()) part.held.at += place.weights * wide;
          if (part.gathered.codes()) part.gathered.at += place.gathered * wide;
        }
      const auto same_device = [&](std::int64_t stage) {
        if (stage < 0 || stage >= program.stages ||
            trainyard::device_of({static_cast<std::uint32_t>(stage)}, program.devices,
                                 program.stages, program.placement, copy) != place.device)
          return -1;
        return static_cast<std::int32_t>(stage * per_stage + copy);
      };
      place.before = same_device(std::int64_t{s} - 1);
      place.after = same_device(std::int64_t{s} + 1);
      places.push_back(std::move(place));
    }
}

void RunPlan::add_layer(StagePlacement& place, const Workload::Run& run, int index) {
  const auto number = static_cast<std::size_t>(run.first_layer) + static_cast<std::size_t>(index);
  if (number >= layer_of_.size()) layer_of_.resize(number + 1, -1);
  layer_of_[number] = static_cast<std::int32_t>(place.layers.size());
  PlacedLayer layer;
  layer.layout = run.body;
  layer.model_layer = run.first_layer + index;
  const LayerLayout& found = layouts[static_cast<std::size_t>(run.body)];
  const Graph& graph = *found.graph;
  layer.of_tensor.assign(graph.tensors.size(), -1);
  std::vector<bool> narrow(graph.tensors.size());
  if (found.body->narrow.apart) narrow = narrow_weights(workload.scenario.model, found.body->block);
  Binding whole;
  const Binding& binding = found.body->binding;
  whole.micro_batch = binding.micro_batch;
  whole.sequence = binding.sequence;
  for (std::uint32_t t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    if (tensor.kind != TensorKind::Parameter) continue;
    PlacedParameter p;
    p.tensor = {t};
    p.name = tensor.name;
    p.whole_shape = local_shape(tensor, whole);
    p.local_shape = local_shape(tensor, binding);
    for (std::size_t d = 0; d < p.local_shape.size(); ++d)
      if (const std::int64_t count = parts(tensor.shape[d], binding); count > 1) {
        const bool by_experts = tensor.shape[d].axis == Axis::Experts;
        (by_experts ? p.divided_by_experts : p.divided) = static_cast<int>(d);
        (by_experts ? p.expert_parts : p.parts) = count;
      }
    p.elements = product(p.local_shape);
    p.tied_to = tensor.tied_to;
    p.transposed = !tensor.tied_to.empty() && read_by_product(graph, {t});
    p.matrix = tensor.shape.size() > 1;
    p.routed = std::any_of(tensor.shape.begin(), tensor.shape.end(),
                           [](const Dim& d) { return d.axis == Axis::Experts; });
    p.frozen = is_frozen(graph, {t});
    p.narrow = narrow[t];
    p.partial = partial_gradient(graph, {t}, binding) != PartialGradient::None;
    layer.of_tensor[t] = static_cast<std::int32_t>(layer.parameters.size());
    layer.parameters.push_back(std::move(p));
  }
  add_parts(place, layer, *found.body);
  if (found.last_weight >= 0 && layer.elements > 0 && place.counting_layer < 0)
    place.counting_layer = static_cast<std::int32_t>(place.layers.size());
  place.layers.push_back(std::move(layer));
}

void RunPlan::add_parts(StagePlacement& place, PlacedLayer& layer, const Body& body) const {
  const Layout& layout = workload.layout;
  const std::int64_t wide = bytes_of(layout.precision.parameter);
  std::int64_t gathered = 0, gathered_codes = 0, unreduced = 0;
  layer.optimizer_at = place.optimizer;
  for (const bool narrow : {false, true})
    for (const auto& [routed, frozen] :
         {std::pair{false, false}, {true, false}, {false, true}, {true, true}}) {
      StatePart& part = layer.parts[StatePart::index(routed, frozen, narrow)];
      part.routed = routed, part.frozen = frozen, part.narrow = narrow;
      part.first = layer.elements;
      for (PlacedParameter& p : layer.parameters)
        if (p.routed == routed && p.frozen == frozen && p.narrow == narrow &&
            (p.tied_to.empty() || layout.tied_copies)) {
          p.offset = layer.elements;
          layer.elements += p.elements;
        }
      part.elements = layer.elements - part.first;
      const auto divide = [](std::int64_t shards, std::int64_t each, std::int64_t& taken) {
        const DividedState made{shards, each, taken, 0};
        taken += made.share;
        return made;
      };
      // Takes that many elements behind the others of their kind, codes counted by themselves.
      const auto take = [&](WeightPlace& of, bool codes, std::int64_t elements, std::int64_t& taken,
                            std::int64_t& taken_codes) {
        of.each = codes ? 1 : wide;
        of.at = codes ? taken_codes : taken * wide;
        (codes ? taken_codes : taken) += elements;
      };
      const std::int64_t trained = frozen ? 0 : part.elements;
      part.weights.shards = routed ? layout.expert_weight_shards : layout.weight_shards;
      part.weights.share = ceil_div(part.elements, part.weights.shards);
      const std::int64_t reducing = routed ? layout.expert_gradient_shards : layout.gradient_shards,
                         updating =
                             routed ? layout.expert_optimizer_shards : layout.optimizer_shards;
      part.gradients = divide(reducing, ceil_div(trained, reducing), place.gradients);
      part.optimizer =
          divide(updating, optimizer_share(trained, updating, layout), place.optimizer);
      take(part.held, narrow && body.narrow.kept_alone, part.weights.share, place.weights,
           place.codes);
      part.gradients.full_at = unreduced;
      part.stays = part.weights.shards > 1 && body.resident.value > 0;
      take(part.full, narrow, part.weights.shards > 1 ? part.elements : 0, gathered,
           gathered_codes);
      take(part.gathered, narrow, part.stays ? part.elements : 0, place.gathered,
           place.gathered_codes);
      if (part.gradients.shards > 1) unreduced += trained;
    }
  layer.optimizer = place.optimizer - layer.optimizer_at;
  for (PlacedParameter& p : layer.parameters) {
    if (p.tied_to.empty() || layout.tied_copies) continue;
    p.weights_full_at = gathered * wide;
    p.gradients_full_at = unreduced;
    gathered += p.elements;
    unreduced += p.frozen ? 0 : p.elements;
  }
  for (StatePart& part : layer.parts)
    if (part.full.codes()) part.full.at += gathered * wide;
}

// A tied tensor uses the storage of the first layer of the block it names, if that is on the same
// stage.
void RunPlan::find_shared() {
  if (workload.layout.tied_copies) return;
  const Model& model = workload.scenario.model;
  for (StagePlacement& place : places) {
    std::map<std::string, std::pair<std::int32_t, std::int32_t>> owners;
    for (std::size_t l = 0; l < place.layers.size(); ++l) {
      const LayerLayout& layout = layouts[static_cast<std::size_t>(place.layers[l].layout)];
      const std::string& block = model.blocks[static_cast<std::size_t>(layout.body->block)].name;
      for (std::size_t i = 0; i < place.layers[l].parameters.size(); ++i) {
        PlacedParameter& p = place.layers[l].parameters[i];
        if (p.tied_to.empty())
          owners.try_emplace(block + "/" + p.name, static_cast<std::int32_t>(l),
                             static_cast<std::int32_t>(i));
        else if (const auto owner = owners.find(p.tied_to); owner != owners.end())
          std::tie(p.owner_layer, p.owner) = owner->second;
      }
    }
  }
}

// Layers lie in a device's file one behind the other, in the order in which they are updated.
void RunPlan::find_state_on_nvme() {
  const int each = nvme_bytes_a_parameter(workload.layout);
  state_buffers.resize(static_cast<std::size_t>(program.devices));
  nvme.resize(state_buffers.size());
  std::vector<std::int64_t> elements(state_buffers.size());
  std::vector<std::size_t> layers(state_buffers.size());
  for (StagePlacement& place : places)
    for (PlacedLayer& layer : place.layers) {
      const std::size_t d = place.device.value;
      layer.in_file = elements[d];
      if (layer.optimizer == 0) continue;
      layer.on_nvme = layers[d]++;
      elements[d] += layer.optimizer;
      nvme[d] = Bytes{elements[d] * each};
      state_buffers[d].add(Bytes{layer.optimizer * each}, 1);
    }
}

void RunPlan::find_buffers() {
  const auto per_stage = static_cast<std::size_t>(copies(program.placement));
  for (std::uint32_t b = 0; b < program.buffers.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    if (!buffer.persistent) continue;
    // Both copies of a stage may be on one device; their buffers are in the order of the copies.
    const std::size_t first = buffer.stage.value * per_stage;
    std::size_t at = first;
    while (at + 1 < first + per_stage && places[at].device != buffer.device) ++at;
    const auto list = [&](StagePlacement& p) -> std::vector<BufferId>& {
      return buffer.holds == Holds::Weights          ? p.weight_sets
             : buffer.holds == Holds::Gradients      ? p.gradient_sets
             : buffer.holds == Holds::OptimizerState ? p.optimizer_sets
             : buffer.holds == Holds::Gathered       ? p.gathered_sets
                                                     : p.other;
    };
    const bool taken =
        buffer.holds != Holds::Other && buffer.item == 0 && !list(places[at]).empty();
    if (taken && at + 1 < first + per_stage) ++at;
    list(places[at]).push_back({b});
  }
}

std::size_t RunPlan::place_of(StageId stage, DeviceId device, std::int16_t wave) const {
  return stage_place(program, stage, device, wave);
}

// The gradients that an update takes follow from the number of lanes that update: if there are
// several, each takes its own.
void RunPlan::count_waves() {
  std::vector<std::set<std::uint32_t>> lanes(places.size());
  for (std::uint32_t s = 0; s < program.streams.size(); ++s)
    for (std::uint32_t i = program.streams[s].first;
         i < program.streams[s].first + program.streams[s].count; ++i) {
      const Instruction& in = program.instructions[i];
      const Task& task = program.task(in);
      const std::size_t at = place_of(task.stage, program.streams[s].device, in.wave);
      places[at].waves = std::max(places[at].waves, in.wave + 1);
      if (task.kind != TaskKind::Compute) continue;
      if (task.phase == Phase::Update) {
        lanes[at].insert(s);
        continue;
      }
      const auto version = static_cast<std::size_t>(std::max<int>(0, in.weights));
      if (version >= places[at].reads.size()) places[at].reads.resize(version + 1, 0);
      ++places[at].reads[version];
    }
  for (std::size_t at = 0; at < places.size(); ++at) places[at].own_waves = lanes[at].size() > 1;
}

void RunPlan::make_groups() {
  const int n = peers.count();
  for (int peer = 0; peer < n; ++peer) {
    const int t = peers.tensor_rank(peer), d = peers.data_rank(peer);
    std::vector<int> tensor, context, context_heads, context_ring, data, shard, replica, expert,
        expert_data;
    for (int other = 0; other < n; ++other) {
      if (!peers.whole_experts && peers.tensor_rank(other) != t) continue;
      if (peers.expert_rank(other) == peers.expert_rank(peer)) expert_data.push_back(other);
      if (peers.expert_replica(other) == peers.expert_replica(peer)) expert.push_back(other);
    }
    for (int r = 0; r < peers.tp; ++r) tensor.push_back(d * peers.tp + r);
    for (int r = 0; r < peers.dp; ++r) {
      data.push_back(r * peers.tp + t);
      if (r / peers.shard == d / peers.shard) shard.push_back(r * peers.tp + t);
      if (r % peers.shard == d % peers.shard) replica.push_back(r * peers.tp + t);
      const int other = r * peers.tp + t;
      if (peers.replica(other) != peers.replica(peer)) continue;
      context.push_back(other);
      if (peers.ring_rank(other) == peers.ring_rank(peer)) context_heads.push_back(other);
      if (peers.heads_rank(other) == peers.heads_rank(peer)) context_ring.push_back(other);
    }
    alone_.push_back({peer});
    tensor_.push_back(std::move(tensor));
    context_.push_back(std::move(context));
    context_heads_.push_back(std::move(context_heads));
    context_ring_.push_back(std::move(context_ring));
    data_.push_back(std::move(data));
    shard_.push_back(std::move(shard));
    replica_.push_back(std::move(replica));
    expert_.push_back(std::move(expert));
    expert_data_.push_back(std::move(expert_data));
  }
}

SequenceRanks RunPlan::sequence_ranks(const Body& body, int peer) const {
  if (body.tensor_heads) return {peers.tensor_rank(peer), peers.tp, peers.tp, true};
  return {peers.context_rank(peer), peers.cp, peers.ulysses};
}

const std::vector<int>& RunPlan::members(Group group, int peer) const {
  const auto at = static_cast<std::size_t>(peer);
  switch (group) {
    case Group::Tensor:
    case Group::TensorHeads:
      return tensor_[at];
    case Group::Context:
      return context_[at];
    case Group::ContextHeads:
      return context_heads_[at];
    case Group::ContextRing:
      return context_ring_[at];
    case Group::Data:
      return data_[at];
    case Group::Expert:
      return expert_[at];
    case Group::ExpertData:
      return expert_data_[at];
    case Group::Shard:
      return shard_[at];
    case Group::Replica:
      return replica_[at];
    default:
      return alone_[at];
  }
}

}  // namespace trainyard
