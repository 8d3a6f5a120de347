// Implements what devices do together: messages between stages, and sums and gathers between ranks.
#include <algorithm>
#include <cstring>
#include <memory>

#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/execution/reduction.h"
#include "core/base/error.h"

namespace trainyard {
namespace {

std::byte* element(std::byte* base, std::int64_t index, DType type) {
  return base + static_cast<std::size_t>(index) * static_cast<std::size_t>(bytes_of(type));
}

// The part of `elements` that one rank of a group holds.
PartRange part_of(std::int64_t elements, std::size_t rank, std::size_t ranks) {
  const std::int64_t each =
      (elements + static_cast<std::int64_t>(ranks) - 1) / static_cast<std::int64_t>(ranks);
  const std::int64_t first = std::min(elements, each * static_cast<std::int64_t>(rank));
  return {first, std::min(each, elements - first)};
}

std::vector<PartRange> parts_of(std::int64_t elements, std::size_t ranks) {
  std::vector<PartRange> parts;
  for (std::size_t r = 0; r < ranks; ++r) parts.push_back(part_of(elements, r, ranks));
  return parts;
}

}  // namespace

std::span<const int> CpuExecution::members(InstructionId id, int peer) const {
  const Task& task = plan_.program.task(id);
  return plan_.members(task.kind == TaskKind::Collective ? task.group : Group::Pipeline, peer);
}

TravelPtr CpuExecution::exchange(InstructionId id, std::span<const int> members) {
  const Task& task = plan_.program.task(id);
  try {
    if (task.kind == TaskKind::Send) return send(id, members.front());
    if (task.kind == TaskKind::Receive)
      return send(plan_.program.instructions[id.value].peer, members.front());
    if (is_host(task.kind)) {
      work_with_host(at(id, members.front()));
      return nullptr;
    }
    if (task.group == Group::Copies) return reduce_copies(id, members.front());
    const auto own = std::find_if(members.begin(), members.end(),
                                  [&](int peer) { return here(plan_.device_of(id), peer); });
    const At a = at(id, *own);
    if (task.group == Group::Context) return pass_round(a, members);
    if (task.group == Group::Expert) return exchange_copies(a, members);
    if (task.node.valid() && loses_over_ranks(node_of(a))) return exchange_loss(a, members);
    if (task.tensor.valid()) return reduce_tensor(a, members);
    if (task.collective == CollectiveKind::AllGather) return gather_weights(a, members);
    return reduce_gradients(a, members);
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

// The two ends are at home in one process or in two, each of which does its own part.
TravelPtr CpuExecution::send(InstructionId id, int peer) {
  const Instruction& sends = plan_.program.instructions[id.value];
  const bool forward = plan_.program.task(sends).phase == Phase::Forward;
  const InstructionId other = sends.peer;
  const DeviceId from_device = plan_.device_of(id), to_device = plan_.device_of(other);
  const int number = message_number(id, peer);
  const auto refuse_missing = [&] {
    refuse(std::string(forward ? "activations" : "gradients") + " of microbatch " +
           std::to_string(sends.microbatch) + " are sent, and they are not there");
  };
  std::span<std::byte> arrived;
  if (here(to_device, peer)) {
    const At to = at(other, peer);
    Flight& into = to.device.flight(to.place, to.microbatch);
    const Allocation& held =
        forward ? into.layers.front().input.held : into.layers.back().output_gradient.held;
    if (!held) refuse_missing();
    arrived = {held.data, static_cast<std::size_t>(held.bytes.value)};
    if (!here(from_device, peer))
      return std::make_unique<Travel>(
          processes()->receive(process_of(from_device, peer), number, arrived),
          [] { return nullptr; });
  }
  const At a = at(id, peer);
  Flight& from = a.device.flight(a.place, a.microbatch);
  const Allocation& message = forward ? from.output : from.gradient;
  const std::byte* data = message ? message.data : forward ? from.lent : nullptr;
  const LayerLayout& layout =
      plan_.layouts[static_cast<std::size_t>(plan_.places[a.place].layers.back().layout)];
  const std::byte* const side = message ? nullptr : from.side ? from.side.data : from.lent_side;
  const std::size_t behind =
      side == nullptr
          ? 0
          : static_cast<std::size_t>(layout.local[layout.side.tensor.value].bytes().value);
  if (data == nullptr) refuse_missing();
  const std::size_t bytes =
      message
          ? static_cast<std::size_t>(message.bytes.value)
          : behind +
                static_cast<std::size_t>(layout.local[layout.output.tensor.value].bytes().value);
  const auto write = [&](std::byte* into) {
    std::memcpy(into, data, bytes - behind);
    if (behind > 0) std::memcpy(into + bytes - behind, side, behind);
  };
  if (here(to_device, peer)) {
    if (arrived.size() != bytes) refuse_missing();
    write(arrived.data());
    return nullptr;
  }
  const auto packed = std::make_shared<std::vector<std::byte>>(behind > 0 ? bytes : 0);
  if (behind > 0) write(packed->data());
  return std::make_unique<Travel>(processes()->send(process_of(to_device, peer), number,
                                                    {behind > 0 ? packed->data() : data, bytes}),
                                  [packed] { return nullptr; });
}

// --- tensors ---

TravelPtr CpuExecution::reduce_tensor(const At& a, std::span<const int> members) {
  const std::size_t l = plan_.layer_of(a.task.layer), ranks = members.size();
  const OpRun& op = op_of(a);
  const Company company = company_of(a, members);
  std::vector<const std::byte*> from(ranks, nullptr);
  std::vector<std::byte*> to(ranks, nullptr);
  TensorView part, whole;
  for (std::size_t r = 0; r < ranks; ++r) {
    if (!company.here(r)) continue;
    DeviceState& device = state(a.device.device(), members[r]);
    Flight& f = device.flight(a.place, a.microbatch);
    part = device.view(a.place, l, f, op.from);
    whole = device.view(a.place, l, f, op.to);
    if (!part.there() || !whole.there())
      refuse("a tensor is reduced or gathered, and it is not there");
    from[r] = static_cast<const std::byte*>(part.data);
    to[r] = static_cast<std::byte*>(whole.data);
  }
  // The sequence is the first dimension, so parts are contiguous.
  const auto side_by_side = [&](std::int64_t elements) {
    std::vector<PartRange> parts;
    for (std::size_t r = 0; r < ranks; ++r)
      parts.push_back({static_cast<std::int64_t>(r) * elements, elements});
    return parts;
  };
  switch (a.task.collective) {
    case CollectiveKind::AllReduce:
      return all_reduce(company, from, to, part.type, part.elements(), op.adds);
    case CollectiveKind::AllGather: {
      const InstructionId id = id_of(a);
      return after(all_gather(company, from, to, side_by_side(part.elements()), part.type),
                   [this, id, peer = a.peer, members, tensor = op.from.tensor] {
                     return gather_routing(at(id, peer), tensor, members);
                   });
    }
    case CollectiveKind::ReduceScatter:
      return reduce_scatter(company, from, to, side_by_side(whole.elements()), part.type, op.adds);
    default:
      refuse("no op of a layer has such a collective: " +
             std::string(to_string(a.task.collective)));
  }
}

// --- gradients and weights ---

TravelPtr CpuExecution::reduce_gradients(const At& a, std::span<const int> members) {
  const StagePlacement& place = plan_.places[a.place];
  const PlacedLayer& layer = place.layers[plan_.layer_of(a.task.layer)];
  const Layout& layout = plan_.workload.layout;
  const DType type = layout.precision.gradient;
  const std::size_t ranks = members.size();
  const Company company = company_of(a, members);
  // Each rank's gradients of the layer in full, and its own part of them if gradients are sharded.
  std::vector<std::byte*> full(ranks, nullptr), own(ranks, nullptr);
  for (std::size_t r = 0; r < ranks; ++r) {
    if (!company.here(r)) continue;
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
  const auto from = [&](const std::vector<std::byte*>& of, std::int64_t first) {
    std::vector<std::byte*> at(ranks, nullptr);
    for (std::size_t r = 0; r < ranks; ++r)
      if (company.here(r)) at[r] = element(of[r], first, type);
    return at;
  };
  const auto const_of = [](const std::vector<std::byte*>& of) {
    return std::vector<const std::byte*>(of.begin(), of.end());
  };
  const auto shards = static_cast<std::size_t>(plan_.peers.shard);
  if (a.task.collective == CollectiveKind::AllReduce) {
    if (a.task.group != Group::Replica) {
      const bool routed = a.task.group == Group::ExpertData;
      const std::int64_t first = routed ? layer.routed_at : 0,
                         last = routed ? layer.elements : layer.routed_at;
      const std::vector<std::byte*> parts = from(own, first);
      return all_reduce(company, const_of(parts), parts, type, last - first, false);
    }
    // Each replica has already reduced its part within its own shard group.
    const PartRange range =
        part_of(layer.elements,
                static_cast<std::size_t>(plan_.peers.data_rank(members[0])) % shards, shards);
    if (range.count <= 0) return nullptr;
    const std::vector<std::byte*> parts = from(full, range.first);
    const bool sharded = layout.gradient_shards > 1;
    return all_reduce(company, const_of(parts), sharded ? own : parts, type, range.count, sharded);
  }
  const bool waits = static_cast<std::size_t>(plan_.peers.dp) > ranks;  // other replicas follow
  const bool adds = layout.gradient_shards > 1 && !waits;
  const std::vector<PartRange> ranges = parts_of(layer.elements, ranks);
  std::vector<std::byte*> to = own;
  for (std::size_t r = 0; r < ranks && !adds; ++r)
    if (company.here(r)) to[r] = element(full[r], ranges[r].first, type);
  return reduce_scatter(company, const_of(full), to, ranges, type, adds);
}

TravelPtr CpuExecution::gather_weights(const At& a, std::span<const int> members) {
  // Divided weights are gathered as they are read; whole ones after they are updated.
  const bool divided = plan_.workload.layout.weight_shards > 1;
  const Company company = company_of(a, members);
  std::vector<const std::byte*> weights(members.size(), nullptr);
  for (std::size_t r = 0; r < members.size(); ++r) {
    if (!company.here(r)) continue;
    const StageState& stage = state(a.device.device(), members[r]).stage(a.place);
    weights[r] = divided ? weights_read(a, stage) : stage.weights[0].data;
  }
  return gather_layer(company, a.place, plan_.layer_of(a.task.layer), a.microbatch, members,
                      std::move(weights));
}

// Weights that stay gathered are so from the start: a program may gather them only after updates.
void CpuExecution::gather_all() {
  for (std::size_t at = 0; at < plan_.places.size(); ++at) {
    const StagePlacement& place = plan_.places[at];
    for (int peer = 0; peer < plan_.peers.count() && !place.gathered_sets.empty(); ++peer) {
      const std::vector<int>& members = plan_.members(state_group(), peer);
      if (members.front() != peer) continue;
      const Company company =
          this->company(plan_.program.streams.size() + place.device.value, state_group(), members);
      std::vector<const std::byte*> weights(members.size(), nullptr);
      bool any = false;
      for (std::size_t r = 0; r < members.size(); ++r)
        if (here(place.device, members[r])) {
          weights[r] = state(place.device, members[r]).stage(at).weights[0].data;
          any = true;
        }
      for (std::size_t l = 0; l < place.layers.size() && any; ++l)
        finish(gather_layer(company, at, l, -1, members, weights), processes());
    }
  }
}

// `weights`: by member, what it holds of the stage's.
TravelPtr CpuExecution::gather_layer(const Company& company, std::size_t at, std::size_t l,
                                     std::int32_t microbatch, std::span<const int> members,
                                     std::vector<const std::byte*> weights) {
  const StagePlacement& place = plan_.places[at];
  const PlacedLayer& layer = place.layers[l];
  const Layout& layout = plan_.workload.layout;
  const DType type = layout.precision.parameter;
  const auto each = static_cast<std::size_t>(bytes_of(type));
  const std::vector<PartRange> ranges = parts_of(layer.elements, members.size());
  std::vector<std::byte*> into(members.size(), nullptr);
  for (std::size_t r = 0; r < members.size(); ++r) {
    if (!company.here(r)) continue;
    DeviceState& device = state(place.device, members[r]);
    StageState& stage = device.stage(at);
    if (stage.gathered) {
      into[r] = element(stage.gathered.data, layer.gathered_at, type);
    } else if (layout.weight_shards > 1) {
      const Allocation& gathered = device.flight(at, microbatch).layers[l].gathered;
      if (!gathered) refuse("weights are gathered, and there is no place for them");
      into[r] = gathered.data;
    } else {
      into[r] = element(stage.weights[0].data, layer.weights_at, type);
    }
    weights[r] += static_cast<std::size_t>(layer.weights_at) * each;
    if (layout.weight_shards == 1) weights[r] += static_cast<std::size_t>(ranges[r].first) * each;
  }
  return all_gather(company, std::move(weights), into, ranges, type);
}

// --- copies of a stage, and tied tables ---

// The gradients of both copies travel as they lie in their sets, with the numbers of their
// microbatches behind them.
TravelPtr CpuExecution::reduce_copies(InstructionId id, int peer) {
  const Instruction& in = plan_.program.instructions[id.value];
  const InstructionId first_end = std::min(id, in.peer), second_end = std::max(id, in.peer);
  struct End {
    DeviceId device;
    std::size_t place;
  };
  std::vector<End> ends;
  for (InstructionId end : {first_end, second_end}) {
    const Instruction& one = plan_.program.instructions[end.value];
    const DeviceId device = plan_.device_of(end);
    ends.push_back({device, plan_.place_of(plan_.program.task(one).stage, device, one.wave)});
  }
  const int members[] = {peer, peer};
  const Company company = shared_.empty()
                              ? Company{2, nullptr}
                              : this->company(stream_of_[first_end.value], Group::Copies, members);
  const StagePlacement& place = plan_.places[ends[0].place];
  const DType type = plan_.workload.layout.precision.gradient;
  const std::size_t set_bytes = static_cast<std::size_t>(place.gradients) *
                                static_cast<std::size_t>(bytes_of(type)),
                    sets = std::max<std::size_t>(1, place.gradient_sets.size()),
                    each = set_bytes + sizeof(std::int64_t);
  const auto packed = std::make_shared<std::vector<std::vector<std::byte>>>(2);
  std::vector<const std::byte*> from(2, nullptr);
  for (std::size_t m = 0; m < 2; ++m) {
    if (!company.here(m)) continue;
    const StageState& stage = state(ends[m].device, peer).stage(ends[m].place);
    std::vector<std::byte>& bytes = (*packed)[m];
    bytes.resize(sets * each);
    for (std::size_t set = 0; set < sets; ++set) {
      if (set_bytes > 0)
        std::memcpy(bytes.data() + set * each, stage.gradients[set].data, set_bytes);
      std::memcpy(bytes.data() + set * each + set_bytes, &stage.counts[set], sizeof(std::int64_t));
    }
    from[m] = bytes.data();
  }
  return spread(company, from, {sets * each, sets * each},
                [=, this, elements = place.gradients](
                    std::span<const std::byte* const> ends_of) -> TravelPtr {
                  // Places are in the order of stages and of copies, and so are sums.
                  const bool in_order = ends[0].place < ends[1].place;
                  std::vector<const void*> parts;
                  std::int64_t count = 0;
                  for (std::size_t m : {in_order ? 0u : 1u, in_order ? 1u : 0u})
                    for (std::size_t set = 0; set < sets; ++set) {
                      parts.push_back(ends_of[m] + set * each);
                      std::int64_t of_set = 0;
                      std::memcpy(&of_set, ends_of[m] + set * each + set_bytes, sizeof of_set);
                      count += of_set;
                    }
                  for (std::size_t m = 0; m < 2; ++m) {
                    if (!company.here(m)) continue;
                    StageState& stage = state(ends[m].device, peer).stage(ends[m].place);
                    void* out = stage.gradients[0].data;
                    sum_into(parts, {&out, 1}, type, elements);
                    for (std::size_t set = 1; set < sets && set_bytes > 0; ++set)
                      std::memset(stage.gradients[set].data, 0,
                                  static_cast<std::size_t>(stage.gradients[set].bytes.value));
                    std::fill(stage.counts.begin(), stage.counts.end(), 0);
                    stage.counts[0] = count;
                  }
                  static_cast<void>(packed);  // in which the parts of this process lie
                  return nullptr;
                });
}

}  // namespace trainyard
