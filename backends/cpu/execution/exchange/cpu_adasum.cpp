// Implements how replicas combine their updates by Adasum (core/methods/parallel/adasum.cpp). Every
// replica updates its weights by its own gradients. The change then takes the place of the copy
// that was kept before, behind the optimizer's state, and the weights are again as they were until
// the combined change is added.
#include <algorithm>

#include "backends/cpu/execution/exchange/adasum_exchange.h"
#include "backends/cpu/execution/state/updated_parts.h"
#include "backends/cpu/kernels/convert.h"
#include "core/training/adasum.h"

namespace trainyard {

// The copy has the order of the optimizer's state, behind the master copy and the rule's slots.
float* CpuExecution::kept_before(const StageState& stage, std::size_t at) const {
  const std::size_t before =
      rule().slots().size() + (weight_update_ == WeightUpdate::Master ? 1 : 0);
  return reinterpret_cast<float*>(stage.optimizer[0].data) +
         before * static_cast<std::size_t>(plan_.places[at].optimizer);
}

// Calls f(tensor's 4-byte weights, its 16-bit weights or null, the copy) for every tensor of the
// layer that is updated.
template <class F>
void CpuExecution::each_combined(const StageState& stage, std::size_t at, std::size_t l,
                                 F&& f) const {
  float* const kept = kept_before(stage, at);
  each_of_replica(stage, at, l,
                  [&](std::span<float> weights, std::byte* narrow, std::int64_t index) {
                    f(weights, narrow, kept + index);
                  });
}

void CpuExecution::keep_before(const StageState& stage, std::size_t at) const {
  for (std::size_t l = 0; l < plan_.places[at].layers.size(); ++l)
    each_combined(stage, at, l, [](std::span<float> weights, std::byte*, float* kept) {
      std::copy(weights.begin(), weights.end(), kept);
    });
}

void CpuExecution::take_change(const StageState& stage, std::size_t at) const {
  for (std::size_t l = 0; l < plan_.places[at].layers.size(); ++l)
    each_combined(stage, at, l, [](std::span<float> weights, std::byte*, float* kept) {
      for (float& weight : weights) {
        const float before = *kept;
        *kept++ = weight - before;
        weight = before;
      }
    });
}

TravelPtr CpuExecution::combine_updates(const At& a, std::span<const int> members) {
  // The sums of a tensor's pair go with the halves that they are of.
  if (a.task.collective == CollectiveKind::AllReduce) return nullptr;
  const std::size_t l = plan_.layer_of(a.task.layer);
  const Company company = company_of(a, members);
  AdasumVectors vectors;
  vectors.of.resize(members.size(), nullptr);
  vectors.mean_ranks = mean_ranks_;
  for (std::size_t r = 0; r < members.size(); ++r) {
    if (!company.here(r)) continue;
    const StageState& stage = state(a.device.device(), members[r]).stage(a.place);
    vectors.of[r] = kept_before(stage, a.place) + plan_.places[a.place].layers[l].optimizer_at;
    vectors.tensors.clear();
    each_combined(stage, a.place, l, [&](std::span<float> weights, std::byte*, float*) {
      vectors.tensors.push_back(static_cast<std::int64_t>(weights.size()));
    });
  }
  Combined& found = combined_[a.place][l];
  if (a.task.collective == CollectiveKind::ReduceScatter)
    return adasum_halves(company, std::move(vectors), found.parts);
  TravelPtr travel = reduce_of(plan_.workload.scenario.plan) == Reduce::AdasumTree
                         ? adasum_whole(company, std::move(vectors), found.parts)
                         : adasum_gather(company, std::move(vectors));
  return after(std::move(travel), [this, id = id_of(a), peer = a.peer, l, members] {
    add_combined(at(id, peer), l, members);
    return TravelPtr();
  });
}

void CpuExecution::add_combined(const At& a, std::size_t l, std::span<const int> members) {
  double squares = 0;
  for (const int member : members) {
    if (!here(a.device.device(), member)) continue;
    squares = 0;
    each_combined(state(a.device.device(), member).stage(a.place), a.place, l,
                  [&](std::span<float> weights, std::byte* narrow, float* change) {
                    squares +=
                        square_sum(change, DType::F32, static_cast<std::int64_t>(weights.size()));
                    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] += change[i];
                    if (narrow != nullptr)
                      from_floats(weights.data(), narrow, plan_.workload.layout.precision.parameter,
                                  static_cast<std::int64_t>(weights.size()));
                  });
  }
  combined_[a.place][l].whole = squares;
}

// Every process that has devices of a layer has found the same sums of it; where the layer has two
// copies, they are equal. The first process that has them tells the others.
void CpuExecution::find_ratios() {
  if (!combines_ && !compresses()) return;
  std::size_t layers = 0;
  for (const StagePlacement& place : plan_.places)
    for (const PlacedLayer& layer : place.layers)
      layers = std::max(layers, static_cast<std::size_t>(layer.model_layer) + 1);
  std::vector<double> parts(layers), whole(layers);
  for (std::size_t at = 0; at < plan_.places.size(); ++at) {
    const StagePlacement& place = plan_.places[at];
    if (!here(place.device, 0) || (at > 0 && plan_.places[at - 1].stage == place.stage)) continue;
    for (std::size_t l = 0; l < place.layers.size(); ++l) {
      const auto layer = static_cast<std::size_t>(place.layers[l].model_layer);
      parts[layer] = combined_[at][l].parts, whole[layer] = combined_[at][l].whole;
    }
  }
  sum_over_processes(parts), sum_over_processes(whole);
  std::vector<double>& ratios = combines_ ? orthogonality_ : energy_sent_;
  ratios.assign(layers, 0);
  for (std::size_t i = 0; i < layers; ++i)
    if (parts[i] > 0) ratios[i] = whole[i] / parts[i];
}

}  // namespace trainyard
