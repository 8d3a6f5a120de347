// Implements the server of downpour (core/training/parameter_server.h), which lies on the replicas
// themselves. The optimizer's state of a layer is cut into as many equal parts as there are
// replicas; replica j serves part j. Behind its own optimizer's state it keeps what each replica
// has fetched of that part, one behind the other, so that a checkpoint has the server's weights.
#include <algorithm>
#include <memory>

#include "backends/cpu/execution/state/updated_parts.h"
#include "backends/cpu/kernels/convert.h"
#include "core/training/parameter_server.h"

namespace trainyard {
namespace {

using Vectors = std::vector<std::vector<float>>;  // by member; empty where it is elsewhere

// Each member gives each other one its part of a vector of the layer.
TravelPtr trade_parts(const Company& company, std::size_t part, const Dealt& given,
                      std::function<TravelPtr(const Dealt&)> then) {
  return deal(
      company, given, [part](std::size_t, std::size_t) { return part * sizeof(float); },
      std::move(then));
}

std::span<const float> floats(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
}

}  // namespace

Arrivals CpuExecution::server_arrivals() const {
  return {sync_.replicas, sync_.shuffled, seed_of(training_, RandomSource::Order)};
}

void CpuExecution::count_staleness() {
  if (!sync_.served() || !sync_.meets_after(updates_)) return;
  staleness_.resize(static_cast<std::size_t>(2 * sync_.replicas - 1));
  for (const std::int64_t stale : staleness_of(server_arrivals(), sync_.round_after(updates_)))
    ++staleness_[static_cast<std::size_t>(stale)];
}

// Returns what the server of a part keeps of a layer: as many parts as there are replicas.
std::span<float> CpuExecution::served(const StageState& stage, std::size_t at,
                                      const PlacedLayer& layer) const {
  return {kept_before(stage, at) + layer.optimizer_at, static_cast<std::size_t>(layer.optimizer)};
}

TravelPtr CpuExecution::push_changes(const At& a, std::span<const int> members) {
  const std::size_t l = plan_.layer_of(a.task.layer), at = a.place;
  const PlacedLayer& layer = plan_.places[at].layers[l];
  const Company company = company_of(a, members);
  const auto whole = static_cast<std::size_t>(layer.optimizer), part = whole / members.size();
  const auto own = std::make_shared<Vectors>(members.size());
  for (std::size_t r = 0; r < members.size(); ++r) {
    if (!company.here(r)) continue;
    std::vector<float>& packed = (*own)[r];
    packed.resize(whole);
    each_of_replica(state(a.device.device(), members[r]).stage(at), at, l,
                    [&](std::span<float> weights, std::byte*, std::int64_t index) {
                      std::copy(weights.begin(), weights.end(),
                                packed.begin() + (index - layer.optimizer_at));
                    });
  }
  return trade_parts(
      company, part,
      [own, part](std::size_t from, std::size_t to) {
        return std::as_bytes(std::span<const float>((*own)[from]).subspan(to * part, part));
      },
      [this, own, part, company, device = a.device.device(), at, l,
       members](const Dealt& dealt) -> TravelPtr {
        for (std::size_t server = 0; server < members.size(); ++server) {
          if (!company.here(server)) continue;
          const std::span<float> kept =
              served(state(device, members[server]).stage(at), at, plan_.places[at].layers[l]);
          std::vector<std::span<float>> fetched;
          std::vector<std::span<const float>> pushed;
          for (std::size_t r = 0; r < members.size(); ++r) {
            fetched.push_back(kept.subspan(r * part, part));
            pushed.push_back(floats(dealt(r, server)));
          }
          serve(server_arrivals(), sync_.round_after(updates_ + 1), sync_.divides, fetched, pushed);
        }
        static_cast<void>(own);  // in which the parts of this process lie
        return nullptr;
      });
}

TravelPtr CpuExecution::fetch_weights(const At& a, std::span<const int> members) {
  const std::size_t l = plan_.layer_of(a.task.layer), at = a.place;
  const PlacedLayer& layer = plan_.places[at].layers[l];
  const Company company = company_of(a, members);
  const auto whole = static_cast<std::size_t>(layer.optimizer), part = whole / members.size();
  const DeviceId device = a.device.device();
  return trade_parts(
      company, part,
      [&](std::size_t server, std::size_t to) {
        return std::as_bytes(std::span<const float>(
            served(state(device, members[server]).stage(at), at, layer).subspan(to * part, part)));
      },
      [=, this, first = layer.optimizer_at](const Dealt& dealt) -> TravelPtr {
        std::vector<float> fetched(whole);
        for (std::size_t r = 0; r < members.size(); ++r) {
          if (!company.here(r)) continue;
          for (std::size_t server = 0; server < members.size(); ++server) {
            const std::span<const float> of = floats(dealt(server, r));
            std::copy(of.begin(), of.end(),
                      fetched.begin() + static_cast<std::ptrdiff_t>(server * part));
          }
          each_of_replica(
              state(device, members[r]).stage(at), at, l,
              [&](std::span<float> weights, std::byte* narrow, std::int64_t index) {
                std::copy_n(fetched.begin() + (index - first), weights.size(), weights.begin());
                if (narrow != nullptr)
                  from_floats(weights.data(), narrow, plan_.workload.layout.precision.parameter,
                              static_cast<std::int64_t>(weights.size()));
              });
        }
        return nullptr;
      });
}

// All replicas have fetched the weights that training begins with.
void CpuExecution::begin_server(const DeviceState& device, std::size_t at, const PlacedLayer& layer,
                                const PlacedParameter& p, std::span<const float> whole) const {
  const StatePart& part = layer.part_of(p);
  if (!sync_.served() || part.optimizer.share == 0) return;
  const std::int64_t each = layer.optimizer / sync_.replicas,
                     rank = plan_.peers.data_rank(device.peer()),
                     begin = part.optimizer.at + p.offset - part.first - layer.optimizer_at;
  const std::span<float> kept = served(device.stage(at), at, layer);
  for (std::int64_t i = 0; i < p.elements; ++i) {
    if ((begin + i) / each != rank) continue;
    for (std::int64_t r = 0; r < sync_.replicas; ++r)
      kept[static_cast<std::size_t>(r * each + (begin + i) % each)] =
          whole[static_cast<std::size_t>(i)];
  }
}

std::vector<float> CpuExecution::parameter_of_server(std::size_t at, const PlacedLayer& layer,
                                                     const PlacedParameter& p) const {
  const StatePart& part = layer.part_of(p);
  const std::int64_t each = layer.optimizer / sync_.replicas,
                     begin = part.optimizer.at + p.offset - part.first - layer.optimizer_at,
                     last = last_served(server_arrivals(), updates_ / sync_.period);
  std::vector<float> found;
  for (std::int64_t i = begin; i < begin + p.elements; ++i)
    found.push_back(served(state(plan_.places[at].device, static_cast<int>(i / each)).stage(at), at,
                           layer)[static_cast<std::size_t>(last * each + i % each)]);
  return found;
}

}  // namespace trainyard
