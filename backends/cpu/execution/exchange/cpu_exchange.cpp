// Implements what devices do together: messages between stages, and sums and gathers between ranks.
#include <algorithm>
#include <cstring>
#include <memory>

#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/execution/exchange/message_format.h"
#include "backends/cpu/execution/exchange/reduction.h"
#include "backends/cpu/execution/task_spans.h"
#include "core/base/error.h"

namespace trainyard {

std::span<const int> CpuExecution::members(InstructionId id, int peer) const {
  const Task& task = plan_.program.task(id);
  return plan_.members(task.kind == TaskKind::Collective ? task.group : Group::Pipeline, peer);
}

TravelPtr CpuExecution::exchange(InstructionId id, std::span<const int> members) {
  const Task& task = plan_.program.task(id);
  std::optional<TaskSpans> spans;
  if (options_.spans != nullptr) spans.emplace(*options_.spans, plan_.program, task);
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
    if (is_context(task.group) && !task.tensor.valid()) return pass_round(a, members);
    if (is_context(task.group) && task.collective == CollectiveKind::AllToAll)
      return exchange_heads(a, members);
    if (task.group == Group::Expert) return exchange_copies(a, members);
    if (averages_means(a)) return average_means(a, members);
    if (task.node.valid() && loses_over_ranks(node_of(a))) return exchange_loss(a, members);
    if (task.tensor.valid()) return reduce_tensor(a, members);
    // Norms have travelled between the passes of the update (prepare_updates).
    if (shares_norms_ && task.list == BodyList::Gather) return nullptr;
    if (combines_ && task.list == BodyList::Gather) return combine_updates(a, members);
    if (sync_.relaxed() && task.list == BodyList::Gather) return meet(a, members);
    if (compresses() && task.list == BodyList::Reduce) return exchange_compressed(a, members);
    if (task.collective == CollectiveKind::AllGather) return gather_weights(a, members);
    if (task.list == BodyList::Gather) return agree_on_sizes(a, members);
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
  const Precision& precision = plan_.workload.layout.precision;
  const DType own = precision.activation,
              format = boundary_format(plan_.workload.scenario.plan, precision);
  const bool rounds = format != own;
  std::span<std::byte> arrived;
  if (here(to_device, peer)) {
    const At to = at(other, peer);
    Flight& into = to.device.flight(to.place, to.microbatch);
    const Allocation& held =
        forward ? into.layers.front().input.held : into.layers.back().output_gradient.held;
    if (!held) refuse_missing();
    arrived = {held.data, static_cast<std::size_t>(held.bytes.value)};
    if (rounds && !here(from_device, peer)) {
      const auto numbers = static_cast<std::int64_t>(arrived.size()) / bytes_of(own);
      const auto come = std::make_shared<std::vector<std::byte>>(
          static_cast<std::size_t>(numbers * bytes_of(format)));
      return std::make_unique<Travel>(
          processes()->receive(process_of(from_device, peer), number, *come), [=, this] {
            convert_numbers(come->data(), format, arrived.data(), own, numbers);
            if (flips_ != nullptr) flip_message(at(other, peer), forward, arrived, own);
            return nullptr;
          });
    }
    if (!here(from_device, peer))
      return std::make_unique<Travel>(
          processes()->receive(process_of(from_device, peer), number, arrived), [=, this] {
            if (flips_ != nullptr) flip_message(at(other, peer), forward, arrived, own);
            return nullptr;
          });
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
    if (rounds) {
      const auto numbers = static_cast<std::int64_t>(bytes) / bytes_of(own);
      std::vector<std::byte> sent(static_cast<std::size_t>(numbers * bytes_of(format)));
      convert_numbers(arrived.data(), own, sent.data(), format, numbers);
      convert_numbers(sent.data(), format, arrived.data(), own, numbers);
    }
    if (flips_ != nullptr) flip_message(at(other, peer), forward, arrived, own);
    return nullptr;
  }
  if (rounds) {
    const auto numbers = static_cast<std::int64_t>(bytes) / bytes_of(own);
    std::vector<std::byte> whole(bytes);
    write(whole.data());
    const auto sent = std::make_shared<std::vector<std::byte>>(
        static_cast<std::size_t>(numbers * bytes_of(format)));
    convert_numbers(whole.data(), own, sent->data(), format, numbers);
    return std::make_unique<Travel>(processes()->send(process_of(to_device, peer), number, *sent),
                                    [sent] { return nullptr; });
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
  const LayerLayout& layout =
      plan_.layouts[static_cast<std::size_t>(plan_.places[a.place].layers[l].layout)];
  if (plan_.peers.ep > 1 && layout.at_experts[op.from.tensor.value]) {
    // Backward may gather the copies again, whose experts are known by then.
    const bool tells = a.task.collective == CollectiveKind::AllGather && !op.of_gradient &&
                       a.device.flight(a.place, a.microbatch).layers[l].routing.gathered.empty();
    return after(tells ? gather_held(a, members) : nullptr,
                 [this, id = id_of(a), peer = a.peer, members] {
                   return meet_over_copies(at(id, peer), members);
                 });
  }
  const Company company = company_of(a, members);
  std::vector<const std::byte*> from(ranks, nullptr);
  std::vector<std::byte*> to(ranks, nullptr);
  TensorView part, whole;
  for (std::size_t r = 0; r < ranks; ++r) {
    if (!company.here(r)) continue;
    DeviceState& device = state(a.device.device(), members[r]);
    Flight& f = device.flight(a.place, a.microbatch);
    widen({a.instruction, a.task, device, a.place, a.microbatch, members[r]}, l, f, op.from);
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
    case CollectiveKind::HaloExchange:
      return exchange_halos(node_of(a), a.task.of_gradient, company, to, part);
    case CollectiveKind::Broadcast: {
      std::vector<PartRange> given(ranks);
      given.front().count = part.elements();
      return all_gather(company, from, to, given, part.type);
    }
    default:
      refuse("no op of a layer has such a collective: " +
             std::string(to_string(a.task.collective)));
  }
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
