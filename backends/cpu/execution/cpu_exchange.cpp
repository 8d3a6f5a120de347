// Implements what devices do together: messages between stages, and sums and gathers between ranks.
#include <algorithm>
#include <cstring>

#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/execution/reduction.h"
#include "core/base/error.h"

namespace trainyard {
namespace {

std::byte* element(std::byte* base, std::int64_t index, DType type) {
  return base + static_cast<std::size_t>(index) * static_cast<std::size_t>(bytes_of(type));
}

// The part of `elements` that one rank of a group holds.
struct Range {
  std::int64_t first, count;
};
Range part_of(std::int64_t elements, std::size_t rank, std::size_t ranks) {
  const std::int64_t each =
      (elements + static_cast<std::int64_t>(ranks) - 1) / static_cast<std::int64_t>(ranks);
  const std::int64_t first = std::min(elements, each * static_cast<std::int64_t>(rank));
  return {first, std::min(each, elements - first)};
}

}  // namespace

std::span<const int> CpuExecution::members(InstructionId id, int peer) const {
  const Task& task = plan_.program.task(id);
  return plan_.members(task.kind == TaskKind::Collective ? task.group : Group::Pipeline, peer);
}

void CpuExecution::exchange(InstructionId id, std::span<const int> members) {
  const At a = at(id, members.front());
  try {
    if (a.task.kind == TaskKind::Send) return send(a);
    if (a.task.kind == TaskKind::Receive) return send(at(a.instruction.peer, a.peer));
    if (a.task.group == Group::Copies) return reduce_copies(a);
    if (a.task.group == Group::Expert) return exchange_copies(a, members);
    if (a.task.node.valid() && loses_over_ranks(node_of(a))) return exchange_loss(a, members);
    if (a.task.tensor.valid()) return reduce_tensor(a, members);
    if (a.task.collective == CollectiveKind::AllGather) return gather_weights(a, members);
    reduce_gradients(a, members);
  } catch (Error& error) {
    error.add_context("exchanging " + describe(plan_.program, id));
    throw;
  }
}

const Node& CpuExecution::node_of(const At& a) const {
  const PlacedLayer& layer = plan_.places[a.place].layers[plan_.layer_of(a.task.layer)];
  return (*plan_.layouts[static_cast<std::size_t>(layer.layout)].graph)[a.task.node];
}

// --- messages ---

void CpuExecution::send(const At& a) {
  const bool forward = a.task.phase == Phase::Forward;
  const InstructionId other = a.instruction.peer;
  const At to = at(other, a.peer);
  Flight& from = a.device.flight(a.place, a.microbatch);
  Flight& into = to.device.flight(to.place, to.microbatch);
  const Allocation& message = forward ? from.output : from.gradient;
  const Allocation& arrived =
      forward ? into.layers.front().input.held : into.layers.back().output_gradient.held;
  const std::byte* data = message ? message.data : forward ? from.lent : nullptr;
  if (data == nullptr || !arrived || (message && message.bytes != arrived.bytes))
    refuse(std::string(forward ? "activations" : "gradients") + " of microbatch " +
           std::to_string(a.microbatch) + " are sent, and they are not there");
  auto bytes = static_cast<std::size_t>(arrived.bytes.value);
  if (const std::byte* const side = from.side ? from.side.data : from.lent_side;
      !message && side != nullptr) {
    const LayerLayout& layout =
        plan_.layouts[static_cast<std::size_t>(plan_.places[a.place].layers.back().layout)];
    const auto behind =
        static_cast<std::size_t>(layout.local[layout.side.tensor.value].bytes().value);
    bytes -= behind;
    std::memcpy(arrived.data + bytes, side, behind);
  }
  std::memcpy(arrived.data, data, bytes);
}

// --- tensors ---

void CpuExecution::reduce_tensor(const At& a, std::span<const int> members) {
  const std::size_t l = plan_.layer_of(a.task.layer);
  const OpRun& op = op_of(a);
  std::vector<TensorView> from, to;
  for (int peer : members) {
    DeviceState& device = state(a.device.device(), peer);
    Flight& f = device.flight(a.place, a.microbatch);
    from.push_back(device.view(a.place, l, f, op.from));
    to.push_back(device.view(a.place, l, f, op.to));
    if (!from.back().there() || !to.back().there())
      refuse("a tensor is reduced or gathered, and it is not there");
  }
  const DType type = from[0].type;
  std::vector<const void*> parts;
  for (const TensorView& v : from) parts.push_back(v.data);
  switch (a.task.collective) {
    case CollectiveKind::AllReduce: {
      std::vector<void*> outs;
      for (const TensorView& v : to) outs.push_back(v.data);
      if (!op.adds) return sum_into(parts, outs, type, from[0].elements());
      for (void* out : outs) add_sum_to(out, parts, type, from[0].elements());
      return;
    }
    case CollectiveKind::AllGather:  // the sequence is the first dimension, so parts are contiguous
      for (const TensorView& v : to)
        for (std::size_t r = 0; r < from.size(); ++r)
          std::memcpy(element(static_cast<std::byte*>(v.data),
                              static_cast<std::int64_t>(r) * from[r].elements(), type),
                      from[r].data, static_cast<std::size_t>(from[r].bytes().value));
      return gather_routing(a, op.from.tensor, members);
    case CollectiveKind::ReduceScatter:
      for (std::size_t r = 0; r < to.size(); ++r) {
        std::vector<const void*> slices;
        for (const void* part : parts)
          slices.push_back(static_cast<const std::byte*>(part) +
                           static_cast<std::size_t>(r) *
                               static_cast<std::size_t>(to[r].bytes().value));
        void* out = to[r].data;
        if (op.adds)
          add_sum_to(out, slices, type, to[r].elements());
        else
          sum_into(slices, {&out, 1}, type, to[r].elements());
      }
      return;
    default:
      refuse("no op of a layer has such a collective: " +
             std::string(to_string(a.task.collective)));
  }
}

// --- gradients and weights ---

void CpuExecution::reduce_gradients(const At& a, std::span<const int> members) {
  const StagePlacement& place = plan_.places[a.place];
  const PlacedLayer& layer = place.layers[plan_.layer_of(a.task.layer)];
  const Layout& layout = plan_.workload.layout;
  const DType type = layout.precision.gradient;
  const std::size_t ranks = members.size();
  // Each rank's gradients of the layer in full, and its own part of them if gradients are sharded.
  std::vector<std::byte*> full(ranks, nullptr), own(ranks, nullptr);
  for (std::size_t r = 0; r < ranks; ++r) {
    DeviceState& device = state(a.device.device(), members[r]);
    StageState& stage = device.stage(a.place);
    const std::size_t set =
        std::min(static_cast<std::size_t>(a.instruction.wave), stage.gradients.size() - 1);
    own[r] = element(stage.gradients[set].data, layer.gradients_at, type);
    full[r] = own[r];
    if (layout.gradient_shards > 1) {
      const LayerFlight& f =
          device.flight(a.place, a.microbatch).layers[plan_.layer_of(a.task.layer)];
      const Allocation& held = f.scattering ? f.scattering : f.unreduced;
      if (!held) refuse("gradients are scattered, and they are not there");
      full[r] = held.data;
    }
  }
  std::vector<const void*> parts(ranks);
  const auto shards = static_cast<std::size_t>(plan_.peers.shard);
  if (a.task.collective == CollectiveKind::AllReduce) {
    if (a.task.group != Group::Replica) {
      const bool routed = a.task.group == Group::ExpertData;
      const std::int64_t first = routed ? layer.routed_at : 0,
                         last = routed ? layer.elements : layer.routed_at;
      std::vector<void*> outs(ranks);
      for (std::size_t r = 0; r < ranks; ++r) parts[r] = outs[r] = element(own[r], first, type);
      return sum_into(parts, outs, type, last - first);
    }
    // Each replica has already reduced its part within its own shard group.
    const Range range =
        part_of(layer.elements,
                static_cast<std::size_t>(plan_.peers.data_rank(members[0])) % shards, shards);
    if (range.count <= 0) return;
    for (std::size_t r = 0; r < ranks; ++r) parts[r] = element(full[r], range.first, type);
    if (layout.gradient_shards > 1) {
      for (std::size_t r = 0; r < ranks; ++r) add_sum_to(own[r], parts, type, range.count);
      return;
    }
    std::vector<void*> outs;
    for (std::size_t r = 0; r < ranks; ++r) outs.push_back(element(full[r], range.first, type));
    return sum_into(parts, outs, type, range.count);
  }
  const bool waits = static_cast<std::size_t>(plan_.peers.dp) > ranks;  // other replicas follow
  for (std::size_t r = 0; r < ranks; ++r) {
    const Range range = part_of(layer.elements, r, ranks);
    if (range.count <= 0) continue;
    for (std::size_t p = 0; p < ranks; ++p) parts[p] = element(full[p], range.first, type);
    if (layout.gradient_shards > 1 && !waits) {
      add_sum_to(own[r], parts, type, range.count);
    } else {
      void* out = element(full[r], range.first, type);
      sum_into(parts, {&out, 1}, type, range.count);
    }
  }
}

void CpuExecution::gather_weights(const At& a, std::span<const int> members) {
  // Divided weights are gathered as they are read; whole ones after they are updated.
  const bool divided = plan_.workload.layout.weight_shards > 1;
  std::vector<const std::byte*> weights;
  for (int peer : members) {
    const StageState& stage = state(a.device.device(), peer).stage(a.place);
    weights.push_back(divided ? weights_read(a, stage) : stage.weights[0].data);
  }
  gather_layer(a.place, plan_.layer_of(a.task.layer), a.microbatch, members, weights);
}

// Weights that stay gathered are so from the start: a program may gather them only after updates.
void CpuExecution::gather_all() {
  for (std::size_t at = 0; at < plan_.places.size(); ++at) {
    const StagePlacement& place = plan_.places[at];
    for (int peer = 0; peer < plan_.peers.count() && !place.gathered_sets.empty(); ++peer) {
      const std::vector<int>& members = divides_state_with(peer);
      if (members.front() != peer) continue;
      std::vector<const std::byte*> weights;
      for (int member : members)
        weights.push_back(state(place.device, member).stage(at).weights[0].data);
      for (std::size_t l = 0; l < place.layers.size(); ++l)
        gather_layer(at, l, -1, members, weights);
    }
  }
}

// `weights`: by member, what it holds of the stage's.
void CpuExecution::gather_layer(std::size_t at, std::size_t l, std::int32_t microbatch,
                                std::span<const int> members,
                                std::span<const std::byte* const> weights) {
  const StagePlacement& place = plan_.places[at];
  const PlacedLayer& layer = place.layers[l];
  const Layout& layout = plan_.workload.layout;
  const DType type = layout.precision.parameter;
  const auto each = static_cast<std::size_t>(bytes_of(type));
  const std::size_t ranks = members.size();
  for (std::size_t to = 0; to < ranks; ++to) {
    DeviceState& device = state(place.device, members[to]);
    StageState& stage = device.stage(at);
    std::byte* into;
    if (stage.gathered) {
      into = element(stage.gathered.data, layer.gathered_at, type);
    } else if (layout.weight_shards > 1) {
      const Allocation& gathered = device.flight(at, microbatch).layers[l].gathered;
      if (!gathered) refuse("weights are gathered, and there is no place for them");
      into = gathered.data;
    } else {
      into = element(stage.weights[0].data, layer.weights_at, type);
    }
    for (std::size_t from = 0; from < ranks; ++from) {
      const Range range = part_of(layer.elements, from, ranks);
      if (range.count <= 0) continue;
      const std::byte* part = weights[from] + static_cast<std::size_t>(layer.weights_at) * each;
      if (layout.weight_shards == 1) {
        if (from == to) continue;
        part += static_cast<std::size_t>(range.first) * each;
      }
      std::memcpy(element(into, range.first, type), part,
                  static_cast<std::size_t>(range.count) * each);
    }
  }
}

// --- copies of a stage, and tied tables ---

void CpuExecution::reduce_copies(const At& a) {
  const DType type = plan_.workload.layout.precision.gradient;
  const At b = at(a.instruction.peer, a.peer);
  const std::size_t first = std::min(a.place, b.place), second = std::max(a.place, b.place);
  StageState& x = (a.place == first ? a : b).device.stage(first);
  StageState& y = (a.place == first ? b : a).device.stage(second);
  std::vector<const void*> parts;
  std::int64_t count = 0;
  for (StageState* s : {&x, &y})
    for (std::size_t set = 0; set < s->gradients.size(); ++set) {
      parts.push_back(s->gradients[set].data);
      count += s->counts[set];
    }
  void* outs[] = {x.gradients[0].data, y.gradients[0].data};
  sum_into(parts, outs, type, plan_.places[first].gradients);
  for (StageState* s : {&x, &y}) {
    for (std::size_t set = 1; set < s->gradients.size(); ++set) {
      std::memset(s->gradients[set].data, 0,
                  static_cast<std::size_t>(s->gradients[set].bytes.value));
      s->counts[set] = 0;
    }
    s->counts[0] = count;
  }
}

}  // namespace trainyard
