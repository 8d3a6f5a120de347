// Implements what ranks do together for routed experts: copies of tokens travel to the ranks that
// hold their experts and back, forward and backward. A message arrives while all ranks of the group
// wait for it, and each rank then gives it a place in its own memory.
#include <algorithm>
#include <cstring>
#include <memory>

#include "backends/cpu/execution/cpu_execution.h"
#include "backends/executable.h"
#include "core/model/ops.h"

namespace trainyard {
namespace {

// Finds which copies come to a rank's experts, given the experts that each rank has chosen: those
// of an expert are side by side, in the order of the ranks that send them.
void route(std::size_t rank, std::size_t experts,
           const std::vector<std::span<const std::int32_t>>& chosen, Routing& to) {
  const std::size_t each = experts / chosen.size();
  std::vector<std::vector<Routing::Origin>> of_expert(each);
  for (std::size_t from = 0; from < chosen.size(); ++from)
    for (std::size_t copy = 0; copy < chosen[from].size(); ++copy) {
      if (chosen[from][copy] < 0) continue;
      const auto expert = static_cast<std::size_t>(chosen[from][copy]);
      if (expert / each == rank)
        of_expert[expert % each].push_back(
            {static_cast<std::int32_t>(from), static_cast<std::int32_t>(copy)});
    }
  to.held.clear();
  to.origins.clear();
  to.gathered.clear();
  for (std::size_t e = 0; e < each; ++e) {
    to.origins.insert(to.origins.end(), of_expert[e].begin(), of_expert[e].end());
    to.held.insert(to.held.end(), of_expert[e].size(), static_cast<std::int32_t>(e));
  }
}

// A rank's own copies whose experts another rank holds, in the order in which they lie there.
std::vector<std::size_t> copies_at(std::size_t rank, std::size_t each, const Routing& routing) {
  std::vector<std::size_t> copies;
  for (std::size_t c = 0; c < routing.chosen.size(); ++c)
    if (routing.chosen[c] >= 0 && static_cast<std::size_t>(routing.chosen[c]) / each == rank)
      copies.push_back(c);
  std::stable_sort(copies.begin(), copies.end(), [&](std::size_t a, std::size_t b) {
    return routing.chosen[a] < routing.chosen[b];
  });
  return copies;
}

// The rows of the copies that a rank's experts hold of another rank's.
std::vector<std::size_t> rows_of(std::size_t rank, const Routing& routing) {
  std::vector<std::size_t> rows;
  for (std::size_t r = 0; r < routing.origins.size(); ++r)
    if (static_cast<std::size_t>(routing.origins[r].rank) == rank) rows.push_back(r);
  return rows;
}

}  // namespace

// A forward that is computed again has been counted before.
void CpuExecution::count_dropped(const At& a, const Routing& routing) const {
  if (a.task.list != BodyList::Forward) return;
  a.device.copies += static_cast<std::int64_t>(routing.chosen.size());
  a.device.dropped += std::count(routing.chosen.begin(), routing.chosen.end(), -1);
}

TravelPtr CpuExecution::exchange_copies(const At& a, std::span<const int> members) {
  const std::size_t l = plan_.layer_of(a.task.layer), ranks = members.size();
  const Node& node = node_of(a);
  const bool dispatches = node.op == &dispatch(), forward = !op_of(a).of_gradient;
  const Company company = company_of(a, members);
  const InstructionId id = id_of(a);
  const auto send_copies = [this, id, company, members, peer = a.peer,
                            leaves = dispatches == forward] {
    return move_copies(at(id, peer), company, members, leaves);
  };
  if (!dispatches || !forward) return send_copies();
  const auto routing = [this, &a, l, members](std::size_t r) -> Routing& {
    return state(a.device.device(), members[r]).flight(a.place, a.microbatch).layers[l].routing;
  };
  const LayerLayout& layout =
      plan_.layouts[static_cast<std::size_t>(plan_.places[a.place].layers[l].layout)];
  std::vector<const std::byte*> from(ranks, nullptr);
  std::vector<Routing*> own(ranks, nullptr);
  for (std::size_t r = 0; r < ranks; ++r)
    if (company.here(r)) {
      own[r] = &routing(r);
      from[r] = reinterpret_cast<const std::byte*>(own[r]->chosen.data());
    }
  const std::size_t copies = (*std::find_if(own.begin(), own.end(), [](Routing* r) {
                               return r != nullptr;
                             }))->chosen.size();
  return spread(
      company, from, std::vector<std::size_t>(ranks, copies * sizeof(std::int32_t)),
      [own, copies, send_copies, experts = static_cast<std::size_t>(routed_experts(*layout.graph))](
          std::span<const std::byte* const> all) {
        std::vector<std::span<const std::int32_t>> chosen;
        for (const std::byte* part : all)
          chosen.push_back({reinterpret_cast<const std::int32_t*>(part), copies});
        for (std::size_t r = 0; r < own.size(); ++r)
          if (own[r] != nullptr) route(r, experts, chosen, *own[r]);
        return send_copies();
      });
}

// `leaves`: from the rank of a token to that of its expert, else back.
TravelPtr CpuExecution::move_copies(const At& a, const Company& company,
                                    std::span<const int> members, bool leaves) {
  const std::size_t l = plan_.layer_of(a.task.layer), ranks = members.size();
  const OpRun& op = op_of(a);
  const LayerLayout& layout =
      plan_.layouts[static_cast<std::size_t>(plan_.places[a.place].layers[l].layout)];
  const std::size_t each = static_cast<std::size_t>(routed_experts(*layout.graph)) / ranks;
  std::vector<LayerFlight*> own(ranks, nullptr);
  std::vector<const std::byte*> from(ranks, nullptr);
  std::size_t row = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    if (!company.here(r)) continue;
    DeviceState& device = state(a.device.device(), members[r]);
    Flight& f = device.flight(a.place, a.microbatch);
    own[r] = &f.layers[l];
    const TensorView view = device.view(a.place, l, f, op.from);
    if (!view.there()) refuse("copies of tokens are sent, and they are not there");
    from[r] = static_cast<const std::byte*>(view.data);
    row = static_cast<std::size_t>(layout.local[op.from.tensor.value].bytes().value) /
          own[r]->routing.chosen.size();
    own[r]->received.resize(
        row * (leaves ? own[r]->routing.origins.size() : own[r]->routing.chosen.size()));
  }
  // These return the rows that a rank gives to another, and those that it takes from it.
  const auto given = [=](std::size_t r, std::size_t to) {
    return leaves ? copies_at(to, each, own[r]->routing) : rows_of(to, own[r]->routing);
  };
  const auto taken = [=](std::size_t from_rank, std::size_t r) {
    return leaves ? rows_of(from_rank, own[r]->routing)
                  : copies_at(from_rank, each, own[r]->routing);
  };
  const auto packed = std::make_shared<std::vector<std::vector<std::byte>>>(ranks * ranks);
  for (std::size_t r = 0; r < ranks; ++r)
    for (std::size_t to = 0; to < ranks && own[r] != nullptr; ++to)
      for (std::size_t at_row : given(r, to)) {
        const std::byte* const first = from[r] + at_row * row;
        std::vector<std::byte>& message = (*packed)[r * ranks + to];
        message.insert(message.end(), first, first + row);
      }
  return deal(
      company,
      [&](std::size_t r, std::size_t to) {
        return std::span<const std::byte>((*packed)[r * ranks + to]);
      },
      [&](std::size_t r, std::size_t to) {
        return own[r] != nullptr ? (*packed)[r * ranks + to].size() : taken(r, to).size() * row;
      },
      [=](const Dealt& dealt) -> TravelPtr {
        for (std::size_t r = 0; r < ranks; ++r) {
          if (own[r] == nullptr) continue;
          for (std::size_t other = 0; other < ranks; ++other) {
            const std::byte* part = dealt(other, r).data();
            for (std::size_t at_row : taken(other, r)) {
              std::memcpy(own[r]->received.data() + at_row * row, part, row);
              part += row;
            }
          }
        }
        static_cast<void>(packed);  // in which the messages of this process lie
        return nullptr;
      });
}

// Tensor ranks that each have a part of every expert meet around its products: their parts of a sum
// are added up, or each has tokens of its own, gathers those of the others and scatters the sums.
TravelPtr CpuExecution::meet_over_copies(const At& a, std::span<const int> members) {
  const std::size_t l = plan_.layer_of(a.task.layer), ranks = members.size();
  const OpRun& op = op_of(a);
  const Company company = company_of(a, members);
  const bool scatters = a.task.collective == CollectiveKind::ReduceScatter,
             gathers = a.task.collective == CollectiveKind::AllGather;
  std::vector<const std::byte*> from(ranks, nullptr);
  std::vector<std::byte*> to(ranks, nullptr);
  std::vector<LayerFlight*> own(ranks, nullptr);
  TensorView one;
  for (std::size_t r = 0; r < ranks; ++r) {
    if (!company.here(r)) continue;
    DeviceState& device = state(a.device.device(), members[r]);
    Flight& f = device.flight(a.place, a.microbatch);
    own[r] = &f.layers[l];
    widen({a.instruction, a.task, device, a.place, a.microbatch, members[r]}, l, f, op.from);
    one = device.view(a.place, l, f, op.from);
    const TensorView into = device.view(a.place, l, f, op.to);
    if (!one.there() || !into.there()) refuse("copies of tokens are exchanged, and are not there");
    from[r] = static_cast<const std::byte*>(one.data);
    to[r] = static_cast<std::byte*>(into.data);
  }
  const LayerFlight& any = **std::find_if(
      own.begin(), own.end(), [](const LayerFlight* layer) { return layer != nullptr; });
  const std::int64_t width = one.size[static_cast<std::size_t>(one.rank - 1)];
  if (!gathers && !scatters)
    return all_reduce(company, from, to, one.type,
                      static_cast<std::int64_t>(any.routing.held.size()) * width, op.adds);
  std::vector<PartRange> parts;
  std::int64_t rows = 0;
  for (const std::int32_t count : any.routing.gathered) {
    parts.push_back({rows * width, count * width});
    rows += count;
  }
  if (scatters && op.adds) return reduce_scatter(company, from, to, parts, one.type, true);
  // The copies that come are more or fewer than planned: each rank gives them a place when they
  // have come.
  const auto each = static_cast<std::size_t>(bytes_of(one.type));
  for (std::size_t r = 0; r < ranks; ++r)
    if (own[r] != nullptr) {
      const std::int64_t elements = gathers ? rows * width : parts[r].count;
      own[r]->received.resize(static_cast<std::size_t>(elements) * each);
      to[r] = own[r]->received.data();
    }
  return gathers ? all_gather(company, from, to, parts, one.type)
                 : reduce_scatter(company, from, to, parts, one.type, false);
}

// Ranks tell each other how many copies each has, and of which experts they are.
TravelPtr CpuExecution::gather_held(const At& a, std::span<const int> members) {
  const std::size_t l = plan_.layer_of(a.task.layer), ranks = members.size();
  const Company company = company_of(a, members);
  std::vector<Routing*> own(ranks, nullptr);
  const auto counts = std::make_shared<std::vector<std::int32_t>>(ranks, 0);
  std::vector<const std::byte*> from(ranks, nullptr);
  for (std::size_t r = 0; r < ranks; ++r) {
    if (!company.here(r)) continue;
    own[r] = &state(a.device.device(), members[r]).flight(a.place, a.microbatch).layers[l].routing;
    (*counts)[r] = static_cast<std::int32_t>(own[r]->held.size());
    from[r] = reinterpret_cast<const std::byte*>(&(*counts)[r]);
  }
  return spread(company, from, std::vector<std::size_t>(ranks, sizeof(std::int32_t)),
                [company, own, counts, ranks](std::span<const std::byte* const> all) {
                  std::vector<std::int32_t> found(ranks);
                  std::vector<std::size_t> sizes(ranks);
                  for (std::size_t r = 0; r < ranks; ++r) {
                    std::memcpy(&found[r], all[r], sizeof found[r]);
                    sizes[r] = static_cast<std::size_t>(found[r]) * sizeof(std::int32_t);
                  }
                  std::vector<const std::byte*> held(ranks, nullptr);
                  for (std::size_t r = 0; r < ranks; ++r)
                    if (own[r] != nullptr)
                      held[r] = reinterpret_cast<const std::byte*>(own[r]->held.data());
                  return spread(company, held, sizes,
                                [own, found](std::span<const std::byte* const> lists) -> TravelPtr {
                                  std::vector<std::int32_t> together;
                                  for (std::size_t r = 0; r < found.size(); ++r) {
                                    const auto* const first =
                                        reinterpret_cast<const std::int32_t*>(lists[r]);
                                    together.insert(together.end(), first, first + found[r]);
                                  }
                                  for (Routing* routing : own)
                                    if (routing != nullptr)
                                      routing->held = together, routing->gathered = found;
                                  return nullptr;
                                });
                });
}

void CpuExecution::receive_copies(const At& a) {
  const Operand& to = op_of(a).to;
  LayerFlight& layer = a.device.flight(a.place, a.microbatch).layers[plan_.layer_of(a.task.layer)];
  if (layer.received.empty() && a.task.group != Group::Expert) return;
  const PlacedLayer& placed = plan_.places[a.place].layers[plan_.layer_of(a.task.layer)];
  a.device.receive(to, layer, plan_.layouts[static_cast<std::size_t>(placed.layout)]);
  if (a.task.group != Group::Expert) return;
  a.device.load = std::max(a.device.load, static_cast<double>(layer.routing.origins.size()) /
                                              static_cast<double>(layer.routing.chosen.size()));
}

// Where copies of tokens are gathered, their experts are too.
TravelPtr CpuExecution::gather_routing(const At& a, TensorId copies, std::span<const int> members) {
  const std::size_t l = plan_.layer_of(a.task.layer);
  const Graph& graph =
      *plan_.layouts[static_cast<std::size_t>(plan_.places[a.place].layers[l].layout)].graph;
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
        return node.op == &dispatch() && node.outputs[0] == copies;
      }))
    return nullptr;
  const Company company = company_of(a, members);
  std::vector<Routing*> own(members.size(), nullptr);
  std::vector<const std::byte*> from(members.size(), nullptr);
  std::size_t count = 0;
  for (std::size_t r = 0; r < members.size(); ++r) {
    if (!company.here(r)) continue;
    own[r] = &state(a.device.device(), members[r]).flight(a.place, a.microbatch).layers[l].routing;
    from[r] = reinterpret_cast<const std::byte*>(own[r]->chosen.data());
    count = own[r]->chosen.size();
  }
  return spread(company, from,
                std::vector<std::size_t>(members.size(), count * sizeof(std::int32_t)),
                [own, count](std::span<const std::byte* const> all) -> TravelPtr {
                  std::vector<std::int32_t> held;
                  for (const std::byte* part : all) {
                    const auto* const first = reinterpret_cast<const std::int32_t*>(part);
                    held.insert(held.end(), first, first + count);
                  }
                  for (Routing* routing : own)
                    if (routing != nullptr) routing->held = held;
                  return nullptr;
                });
}

}  // namespace trainyard
