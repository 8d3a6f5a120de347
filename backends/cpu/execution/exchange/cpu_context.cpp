// Implements what the context ranks of a ring do together: keys and values travel round, so that
// each rank attends to the whole sequence, and in backward once more, together with their
// gradients. All steps round the ring are taken at once, while all its ranks wait for them.
#include <algorithm>
#include <cstring>
#include <memory>

#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/execution/exchange/reduction.h"
#include "backends/cpu/kernels/turned_heads.h"
#include "backends/executable.h"
#include "core/model/ops.h"

namespace trainyard {
namespace {

// Calls f(offset in the rank's part, offset in the whole, elements) for the rows that a rank holds
// of a tensor whose first dimension is the sequence.
template <class F>
void each_range(const TensorView& own, SequencePart part, F&& f) {
  const std::int64_t row = own.elements() / own.size[0];
  part.each_stretch(own.size[0], 0, own.size[0],
                    [&](std::int64_t i, std::int64_t count, std::int64_t position) {
                      f(i * row, position * row, count * row);
                    });
}

template <class Byte>
Byte* element_at(Byte* base, std::int64_t index, DType type) {
  return base + static_cast<std::size_t>(index) * static_cast<std::size_t>(bytes_of(type));
}

}  // namespace

SequencePart CpuExecution::ring_part(int peer) const {
  return {plan_.peers.ring_rank(peer), plan_.peers.ring()};
}

// The run of the collective's node beside which it runs, or else the next, or else the one before.
const KernelRun& CpuExecution::run_beside(const At& a) const {
  const PlacedLayer& layer = plan_.places[a.place].layers[plan_.layer_of(a.task.layer)];
  const LayerLayout& layout = plan_.layouts[static_cast<std::size_t>(layer.layout)];
  const std::vector<OpRun>& ops =
      a.task.list == BodyList::Forward ? layout.forward : layout.backward;
  const auto found = [&](std::size_t i) -> const KernelRun* {
    for (const KernelRun& run : ops[i].runs)
      if (run.node == a.task.node) return &run;
    return nullptr;
  };
  const auto at = static_cast<std::size_t>(a.task.op);
  for (std::size_t i = at + 1; i < ops.size(); ++i)
    if (const KernelRun* const run = found(i)) return *run;
  for (std::size_t i = at; i-- > 0;)
    if (const KernelRun* const run = found(i)) return *run;
  refuse("ranks exchange what " + node_of(a).name + " reads, and the layer does not run it");
}

// Queries, keys and values may be parts of one tensor, which nothing has read yet.
void CpuExecution::make_views(const At& a, Scratch& scratch) {
  Flight& f = a.device.flight(a.place, a.microbatch);
  for (const KernelRun& one : op_of(a).runs) run(a, plan_.layer_of(a.task.layer), f, one, scratch);
}

TravelPtr CpuExecution::pass_round(const At& a, std::span<const int> members) {
  const InstructionId id = id_of(a);
  const auto pass = [this, id, peer = a.peer, members](std::size_t which) {
    const At here = at(id, peer);
    return here.task.collective == CollectiveKind::ReduceScatter
               ? sum_round(here, members, which)
               : gather_round(here, members, which);
  };
  return after(pass(0), [pass] { return pass(1); });
}

// Gives each rank the keys (0) or values (1) of all.
TravelPtr CpuExecution::gather_round(const At& a, std::span<const int> members, std::size_t which) {
  const std::size_t l = plan_.layer_of(a.task.layer), ranks = members.size();
  const Operand& operand = run_beside(a).inputs[1 + which];
  const Company company = company_of(a, members);
  std::vector<const std::byte*> from(ranks, nullptr);
  std::vector<LayerFlight*> own(ranks, nullptr);
  TensorView part;
  for (std::size_t r = 0; r < ranks; ++r) {
    if (!company.here(r)) continue;
    DeviceState& device = state(a.device.device(), members[r]);
    Flight& f = device.flight(a.place, a.microbatch);
    part = turned_to_heads(device.view(a.place, l, f, operand), plan_.peers.ulysses);
    if (!part.there()) refuse("keys and values are passed, and they are not there");
    from[r] = static_cast<const std::byte*>(part.data);
    own[r] = &f.layers[l];
  }
  const auto bytes = static_cast<std::size_t>(part.bytes().value);
  return spread(company, from, std::vector<std::size_t>(ranks, bytes),
                [=, this](std::span<const std::byte* const> parts) -> TravelPtr {
                  for (LayerFlight* const to : own) {
                    if (to == nullptr) continue;
                    std::vector<std::byte>& whole = to->round[which];
                    whole.resize(bytes * ranks);
                    for (std::size_t r = 0; r < ranks; ++r)
                      each_range(part, ring_part(members[r]),
                                 [&](std::int64_t first, std::int64_t at, std::int64_t count) {
                                   std::memcpy(
                                       element_at(whole.data(), at, part.type),
                                       element_at(parts[r], first, part.type),
                                       static_cast<std::size_t>(count * bytes_of(part.type)));
                                 });
                  }
                  return nullptr;
                });
}

// Sums what all ranks have made of the gradient of keys (0) or values (1) into each rank's own.
TravelPtr CpuExecution::sum_round(const At& a, std::span<const int> members, std::size_t which) {
  const std::size_t l = plan_.layer_of(a.task.layer), ranks = members.size();
  const KernelRun& run = run_beside(a);
  const Operand& operand = run.input_gradients[1 + which];
  const Company company = company_of(a, members);
  std::vector<TensorView> own(ranks);
  std::vector<LayerFlight*> flights(ranks, nullptr);
  TensorView part;
  for (std::size_t r = 0; r < ranks; ++r) {
    if (!company.here(r)) continue;
    DeviceState& device = state(a.device.device(), members[r]);
    Flight& f = device.flight(a.place, a.microbatch);
    part = own[r] = turned_to_heads(device.view(a.place, l, f, operand), plan_.peers.ulysses);
    flights[r] = &f.layers[l];
    if (own[r].there() && flights[r]->round_gradients[which].empty())
      refuse("gradients of keys and values are passed, and they are not there");
  }
  if (!part.there()) return nullptr;
  const auto bytes = static_cast<std::size_t>(part.bytes().value);
  // The rows of a rank lie side by side in a message.
  const auto packed = std::make_shared<std::vector<std::vector<std::byte>>>(ranks * ranks);
  for (std::size_t r = 0; r < ranks; ++r)
    for (std::size_t to = 0; to < ranks && flights[r] != nullptr; ++to) {
      std::vector<std::byte>& message = (*packed)[r * ranks + to];
      message.resize(bytes);
      const std::byte* const made = flights[r]->round_gradients[which].data();
      each_range(part, ring_part(members[to]),
                 [&](std::int64_t into, std::int64_t at, std::int64_t count) {
                   std::memcpy(element_at(message.data(), into, part.type),
                               element_at(made, at, part.type),
                               static_cast<std::size_t>(count * bytes_of(part.type)));
                 });
    }
  return deal(
      company,
      [&](std::size_t r, std::size_t to) {
        return std::span<const std::byte>((*packed)[r * ranks + to]);
      },
      [&](std::size_t, std::size_t) { return bytes; },
      [=, adds = run.adds[1 + which] != 0](const Dealt& dealt) -> TravelPtr {
        for (std::size_t r = 0; r < ranks; ++r) {
          if (flights[r] == nullptr) continue;
          std::vector<const void*> parts;
          for (std::size_t other = 0; other < ranks; ++other)
            parts.push_back(dealt(other, r).data());
          void* const out = own[r].data;
          if (adds)
            add_sum_to(out, parts, part.type, part.elements());
          else
            sum_into(parts, {&out, 1}, part.type, part.elements());
          flights[r]->round_gradients[which] = {};
        }
        static_cast<void>(packed);  // in which the messages of this process lie
        return nullptr;
      });
}

// Sets keys and values of the call to those of the whole sequence, and their gradients to memory in
// which they leave.
void CpuExecution::attend_round(LayerFlight& layer, int ring, std::span<TensorView> inputs,
                                std::span<TensorView> gradients,
                                std::span<std::uint8_t> adds) const {
  for (std::size_t i = 0; i < 2 && ring > 1; ++i) {
    const auto widen = [&](TensorView& view, std::vector<std::byte>& held) {
      view.size[0] *= ring;
      view.data = held.data();
    };
    if (layer.round[i].empty()) refuse("keys and values are read before they have been passed");
    widen(inputs[1 + i], layer.round[i]);
    if (gradients.empty()) continue;
    adds[1 + i] = 0;
    if (!gradients[1 + i].there()) continue;
    layer.round_gradients[i].resize(static_cast<std::size_t>(gradients[1 + i].bytes().value) *
                                    static_cast<std::size_t>(ring));
    widen(gradients[1 + i], layer.round_gradients[i]);
  }
}

// What has travelled counts as memory of the kernel that read it. Backward reads once more what a
// forward that is done again has read.
void CpuExecution::end_round(const At& a, LayerFlight& layer, Pass pass, const Scratch& scratch) {
  auto bytes = static_cast<std::int64_t>(layer.output_of_heads.size());
  for (const auto* const both : {&layer.round, &layer.round_gradients})
    for (const std::vector<std::byte>& one : *both) bytes += static_cast<std::int64_t>(one.size());
  a.device.scratch = std::max(a.device.scratch, scratch.most() + Bytes{bytes});
  if (pass != Pass::Forward || a.task.list == BodyList::Forward) layer.round = {};
  if (pass != Pass::Forward) layer.output_of_heads = {};
}

}  // namespace trainyard
