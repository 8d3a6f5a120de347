// Implements what ranks exchange of the state that they divide: gradients are reduced or scattered
// to those that update them, weights are gathered from these.
#include <algorithm>
#include <memory>

#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/execution/exchange/message_format.h"
#include "core/base/error.h"

namespace trainyard {
namespace {

std::byte* number(std::byte* base, std::int64_t index, DType type) {
  return base + static_cast<std::size_t>(index) * static_cast<std::size_t>(bytes_of(type));
}

std::vector<const std::byte*> const_of(const std::vector<std::byte*>& of) {
  return {of.begin(), of.end()};
}

}  // namespace

// Returns a layer's own state and the tables of other layers that it reads.
std::vector<CpuExecution::Stretch> CpuExecution::stretches(std::size_t at, std::size_t l,
                                                           bool routed) const {
  const StagePlacement& place = plan_.places[at];
  const PlacedLayer& layer = place.layers[l];
  std::vector<Stretch> found;
  for (const bool narrow : {false, true})
    for (const bool frozen : {false, true})
      if (const StatePart& own = layer.parts[StatePart::index(routed, frozen, narrow)];
          own.elements > 0)
        found.push_back({own, 0, own.elements, own.full.at, own.gradients.full_at, true});
  for (const PlacedParameter& p : layer.parameters) {
    if (p.owner < 0 || routed) continue;
    const PlacedLayer& owner = place.layers[static_cast<std::size_t>(p.owner_layer)];
    const PlacedParameter& stored = owner.parameters[static_cast<std::size_t>(p.owner)];
    const StatePart& part = owner.part_of(stored);
    found.push_back({part, stored.offset - part.first, stored.elements, p.weights_full_at,
                     p.gradients_full_at, false});
  }
  return found;
}

// Returns what each rank has of the stretch where its part of the state is divided over so many.
std::vector<PartRange> CpuExecution::shares_of(const Stretch& stretch, std::size_t ranks) {
  const auto count = static_cast<std::int64_t>(ranks);
  const std::int64_t share = (stretch.part.elements + count - 1) / count,
                     end = stretch.first + stretch.elements;
  std::vector<PartRange> shares;
  for (std::int64_t r = 0; r < count; ++r) {
    const std::int64_t from = std::clamp(r * share, stretch.first, end),
                       to = std::clamp((r + 1) * share, stretch.first, end);
    shares.push_back({from - stretch.first, to - from});
  }
  return shares;
}

TravelPtr CpuExecution::reduce_gradients(const At& a, std::span<const int> members) {
  const bool routed = a.task.group == Group::ExpertData;
  const std::vector<Stretch> all = stretches(a.place, plan_.layer_of(a.task.layer), routed);
  return each_in_turn(all, 0, [this, id = id_of(a), peer = a.peer, members](const Stretch& one) {
    const bool scattered_here = !one.part.frozen && (one.own || one.part.gradients.shards > 1);
    return scattered_here ? reduce_stretch(at(id, peer), one, members) : nullptr;
  });
}

TravelPtr CpuExecution::each_in_turn(std::vector<Stretch> all, std::size_t next,
                                     std::function<TravelPtr(const Stretch&)> exchange) {
  if (next == all.size()) return nullptr;
  TravelPtr travel = exchange(all[next]);
  return after(std::move(travel), [all = std::move(all), next, exchange = std::move(exchange)] {
    return each_in_turn(all, next + 1, exchange);
  });
}

TravelPtr CpuExecution::reduce_stretch(const At& a, const Stretch& stretch,
                                       std::span<const int> members) {
  const StatePart& part = stretch.part;
  const DType type = plan_.workload.layout.precision.gradient;
  const DType message =
      gradient_message_format(plan_.workload.scenario.plan, plan_.workload.layout.precision);
  const bool sharded = part.gradients.shards > 1;
  const std::size_t ranks = members.size();
  const Company company = company_of(a, members);
  // Each rank's gradients of the stretch in full, and its own share of them if gradients are
  // sharded.
  std::vector<std::byte*> full(ranks, nullptr), own(ranks, nullptr);
  const bool replicas = a.task.group == Group::Replica;
  const auto shards = replicas ? static_cast<std::size_t>(plan_.peers.shard) : ranks;
  const std::vector<PartRange> shares = shares_of(stretch, shards);
  for (std::size_t r = 0; r < ranks; ++r) {
    if (!company.here(r)) continue;
    DeviceState& device = state(a.device.device(), members[r]);
    StageState& stage = device.stage(a.place);
    const std::size_t set =
        std::min(static_cast<std::size_t>(a.instruction.wave), stage.gradients.size() - 1);
    own[r] = number(stage.gradients[set].data, part.gradients.at, type);
    full[r] = number(own[r], stretch.first, type);
    if (!sharded) continue;
    const std::int64_t rank =
        plan_.peers.shard_rank(part.routed, part.gradients.shards, members[r]);
    own[r] = number(own[r], std::max<std::int64_t>(0, stretch.first - rank * part.gradients.share),
                    type);
    const LayerFlight& f =
        device.flight(a.place, a.microbatch).layers[plan_.layer_of(a.task.layer)];
    const Allocation& held = f.scattering ? f.scattering : f.unreduced;
    if (!held) refuse("gradients are scattered, and they are not there");
    full[r] = number(held.data, stretch.gradients_full_at, type);
  }
  if (a.task.collective == CollectiveKind::AllReduce) {
    if (!replicas)
      return all_reduce_as(message, company, const_of(full), full, type, stretch.elements, false);
    // Each replica has already reduced its share within its own shard group.
    const PartRange range =
        shares[static_cast<std::size_t>(plan_.peers.data_rank(members[0])) % shards];
    if (range.count <= 0) return nullptr;
    std::vector<std::byte*> parts(ranks, nullptr);
    for (std::size_t r = 0; r < ranks; ++r)
      if (company.here(r)) parts[r] = number(full[r], range.first, type);
    return all_reduce_as(message, company, const_of(parts), sharded ? own : parts, type,
                         range.count, sharded);
  }
  // Where there are other replicas, they follow.
  const bool waits = !part.routed && static_cast<std::size_t>(plan_.peers.dp) > ranks;
  const bool adds = sharded && !waits;
  std::vector<std::byte*> to = own;
  for (std::size_t r = 0; r < ranks && !adds; ++r)
    if (company.here(r)) to[r] = number(full[r], shares[r].first, type);
  return reduce_scatter_as(message, company, const_of(full), to, shares, type, adds);
}

TravelPtr CpuExecution::gather_weights(const At& a, std::span<const int> members) {
  const std::vector<Stretch> all =
      stretches(a.place, plan_.layer_of(a.task.layer), a.task.group == Group::ExpertData);
  return each_in_turn(
      all, 0, [this, id = id_of(a), peer = a.peer, members](const Stretch& one) -> TravelPtr {
        const At now = at(id, peer);
        // Divided weights are gathered as they are read; whole ones after they are updated, by the
        // layer that updates them, and so are weights that stay gathered.
        const bool divided = one.part.weights.shards > 1;
        if ((!one.own && (!divided || one.part.stays)) || (one.part.frozen && !divided))
          return nullptr;
        const Company company = company_of(now, members);
        std::vector<const std::byte*> weights(members.size(), nullptr);
        for (std::size_t r = 0; r < members.size(); ++r) {
          if (!company.here(r)) continue;
          const StageState& stage = state(now.device.device(), members[r]).stage(now.place);
          weights[r] = divided ? weights_read(now, stage) : stage.weights[0].data;
        }
        return gather_stretch(company, now.place, plan_.layer_of(now.task.layer), one,
                              now.microbatch, members, std::move(weights));
      });
}

// Weights that stay gathered are so from the start: a program may gather them only after updates.
void CpuExecution::gather_all() {
  for (const Group group : {state_group(), Group::ExpertData})
    for (std::size_t at = 0; at < plan_.places.size(); ++at) {
      const StagePlacement& place = plan_.places[at];
      for (int peer = 0; peer < plan_.peers.count() && !place.gathered_sets.empty(); ++peer) {
        const std::vector<int>& members = plan_.members(group, peer);
        if (members.front() != peer) continue;
        const Company company =
            this->company(plan_.program.streams.size() + place.device.value, group, members);
        std::vector<const std::byte*> weights(members.size(), nullptr);
        bool any = false;
        for (std::size_t r = 0; r < members.size(); ++r)
          if (here(place.device, members[r])) {
            weights[r] = state(place.device, members[r]).stage(at).weights[0].data;
            any = true;
          }
        for (std::size_t l = 0; l < place.layers.size() && any; ++l)
          for (const Stretch& one : stretches(at, l, group == Group::ExpertData))
            if (one.own && one.part.stays)
              finish(gather_stretch(company, at, l, one, -1, members, weights), processes());
      }
    }
}

// `weights`: by member, what it holds of the stage's.
TravelPtr CpuExecution::gather_stretch(const Company& company, std::size_t at, std::size_t l,
                                       const Stretch& stretch, std::int32_t microbatch,
                                       std::span<const int> members,
                                       std::vector<const std::byte*> weights) {
  const StatePart& part = stretch.part;
  const bool divided = part.weights.shards > 1;
  if (casts_what_came(part)) return gather_and_cast(company, at, l, part, members);
  const WeightPlace& to = !divided ? part.held : part.stays ? part.gathered : part.full;
  const DType type = to.codes() ? DType::F8 : plan_.workload.layout.precision.parameter;
  const std::vector<PartRange> shares = shares_of(stretch, members.size());
  std::vector<std::byte*> into(members.size(), nullptr);
  std::vector<std::vector<std::byte>> casts(members.size());
  for (std::size_t r = 0; r < members.size(); ++r) {
    if (!company.here(r)) continue;
    DeviceState& device = state(plan_.places[at].device, members[r]);
    StageState& stage = device.stage(at);
    if (!divided) {
      into[r] = to.of(stage.weights[0].data, 0);
    } else if (part.stays) {
      into[r] = to.of(stage.gathered.data, 0);
    } else {
      const Allocation& gathered = device.flight(at, microbatch).layers[l].gathered;
      if (!gathered) refuse("weights are gathered, and there is no place for them");
      into[r] = gathered.data + stretch.weights_full_at;
    }
    const std::int64_t held = divided ? static_cast<std::int64_t>(r) * part.weights.share : 0;
    weights[r] =
        part.held.of(weights[r], std::max<std::int64_t>(0, stretch.first + shares[r].first - held));
    if (part.held.each == to.each) continue;
    casts[r] = codes_of(stage, at, l, part, shares[r], weights[r]);
    weights[r] = casts[r].data();
  }
  // Replicas of weights that are not divided have what they gather as their only ones.
  const DType message =
      divided ? gather_format(plan_.workload.scenario.plan, plan_.workload.layout.precision) : type;
  return after(all_gather_as(to.codes() ? type : message, company, weights, into, shares, type),
               [casts = std::make_shared<std::vector<std::vector<std::byte>>>(std::move(casts))] {
                 return TravelPtr();
               });
}

}  // namespace trainyard
