// Implements what ranks do together for routed experts: copies of tokens travel to the ranks that
// hold their experts and back, forward and backward. A message is written while all ranks of the
// group wait for it, and each rank then gives it a place in its own memory.
#include <algorithm>
#include <cstring>

#include "backends/cpu/execution/cpu_execution.h"
#include "backends/executable.h"
#include "core/model/ops.h"

namespace trainyard {
namespace {

// Finds for each rank which copies come to its experts: those of an expert are side by side, in the
// order of the ranks that send them.
void route(std::int64_t experts, std::span<LayerFlight* const> ranks) {
  std::vector<std::vector<Routing::Origin>> of_expert(static_cast<std::size_t>(experts));
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::vector<std::int32_t>& chosen = ranks[rank]->routing.chosen;
    for (std::size_t copy = 0; copy < chosen.size(); ++copy)
      of_expert[static_cast<std::size_t>(chosen[copy])].push_back(
          {static_cast<std::int32_t>(rank), static_cast<std::int32_t>(copy)});
  }
  const std::size_t each = of_expert.size() / ranks.size();
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    Routing& to = ranks[rank]->routing;
    to.held.clear();
    to.origins.clear();
    for (std::size_t e = 0; e < each; ++e) {
      const std::vector<Routing::Origin>& come = of_expert[rank * each + e];
      to.origins.insert(to.origins.end(), come.begin(), come.end());
      to.held.insert(to.held.end(), come.size(), static_cast<std::int32_t>(e));
    }
  }
}

}  // namespace

void CpuExecution::exchange_copies(const At& a, std::span<const int> members) {
  const std::size_t l = plan_.layer_of(a.task.layer);
  const OpRun& op = op_of(a);
  const Node& node = node_of(a);
  const LayerLayout& layout =
      plan_.layouts[static_cast<std::size_t>(plan_.places[a.place].layers[l].layout)];
  std::vector<LayerFlight*> ranks;
  std::vector<const std::byte*> from;
  for (int peer : members) {
    DeviceState& device = state(a.device.device(), peer);
    Flight& f = device.flight(a.place, a.microbatch);
    ranks.push_back(&f.layers[l]);
    const TensorView view = device.view(a.place, l, f, op.from);
    if (!view.there()) refuse("copies of tokens are sent, and they are not there");
    from.push_back(static_cast<const std::byte*>(view.data));
  }
  const bool dispatches = node.op == &dispatch(), forward = !op.of_gradient;
  const bool leaves = dispatches == forward;  // to the experts
  if (dispatches && forward) route(routed_experts(*layout.graph), ranks);
  const TensorView& own = layout.local[op.from.tensor.value];
  const std::size_t row =
      static_cast<std::size_t>(own.bytes().value) / ranks[0]->routing.chosen.size();
  for (LayerFlight* rank : ranks)
    rank->received.resize(row * (leaves ? rank->routing.held : rank->routing.chosen).size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    for (std::size_t r = 0; r < ranks[rank]->routing.origins.size(); ++r) {
      const Routing::Origin& origin = ranks[rank]->routing.origins[r];
      const auto other = static_cast<std::size_t>(origin.rank);
      const std::size_t at = r * row, there = static_cast<std::size_t>(origin.copy) * row;
      if (leaves)
        std::memcpy(ranks[rank]->received.data() + at, from[other] + there, row);
      else
        std::memcpy(ranks[other]->received.data() + there, from[rank] + at, row);
    }
}

void CpuExecution::receive_copies(const At& a) {
  const Operand& to = op_of(a).to;
  LayerFlight& layer = a.device.flight(a.place, a.microbatch).layers[plan_.layer_of(a.task.layer)];
  const auto index = static_cast<std::size_t>(to.index);
  Allocation& held =
      to.where == Operand::Where::Saved ? layer.saved[index] : layer.transients[index];
  a.device.make_room(held, Bytes{static_cast<std::int64_t>(layer.received.size())});
  std::memcpy(held.data, layer.received.data(), layer.received.size());
  layer.received.clear();
  a.device.load = std::max(a.device.load, static_cast<double>(layer.routing.held.size()) /
                                              static_cast<double>(layer.routing.chosen.size()));
}

// Where copies of tokens are gathered, their experts are too.
void CpuExecution::gather_routing(const At& a, TensorId copies, std::span<const int> members) {
  const std::size_t l = plan_.layer_of(a.task.layer);
  const Graph& graph =
      *plan_.layouts[static_cast<std::size_t>(plan_.places[a.place].layers[l].layout)].graph;
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
        return node.op == &dispatch() && node.outputs[0] == copies;
      }))
    return;
  std::vector<std::int32_t> all;
  const auto routing = [&](int peer) -> Routing& {
    return state(a.device.device(), peer).flight(a.place, a.microbatch).layers[l].routing;
  };
  for (int peer : members)
    all.insert(all.end(), routing(peer).chosen.begin(), routing(peer).chosen.end());
  for (int peer : members) routing(peer).held = all;
}

}  // namespace trainyard
