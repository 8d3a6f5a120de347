// Implements how replicas that make steps of their own meet (relaxed_synchrony.cpp). The centre of
// easgd lies behind the optimizer's state, where Adasum keeps weights from before an update, so
// that a checkpoint has it and the weights of every replica.
#include <memory>

#include "backends/cpu/execution/state/updated_parts.h"
#include "backends/cpu/kernels/convert.h"
#include "core/training/elastic_averaging.h"

namespace trainyard {

// Returns the optimizer's state of a layer, slot behind slot, where replicas average it.
std::vector<std::span<float>> CpuExecution::averaged_state(const StageState& stage, std::size_t at,
                                                           std::size_t l) const {
  std::vector<std::span<float>> slots;
  const StagePlacement& place = plan_.places[at];
  if (!sync_.averages_state || place.layers[l].optimizer == 0) return slots;
  const std::size_t master = weight_update_ == WeightUpdate::Master ? 1 : 0;
  for (std::size_t k = 0; k < rule().slots().size(); ++k)
    slots.emplace_back(reinterpret_cast<float*>(stage.optimizer[0].data) +
                           (master + k) * static_cast<std::size_t>(place.optimizer) +
                           place.layers[l].optimizer_at,
                       static_cast<std::size_t>(place.layers[l].optimizer));
  return slots;
}

TravelPtr CpuExecution::meet(const At& a, std::span<const int> members) {
  if (!sync_.meets_after(updates_ + 1)) return nullptr;
  if (sync_.served()) return a.task.op == 0 ? push_changes(a, members) : fetch_weights(a, members);
  const std::size_t l = plan_.layer_of(a.task.layer), at = a.place;
  const Company company = company_of(a, members);
  struct Packed {
    std::vector<std::vector<float>> own, sum;
  };
  const auto packed = std::make_shared<Packed>();
  packed->own.resize(members.size()), packed->sum.resize(members.size());
  std::vector<const std::byte*> from(members.size(), nullptr);
  std::vector<std::byte*> to(members.size(), nullptr);
  std::size_t numbers = 0;
  for (std::size_t r = 0; r < members.size(); ++r) {
    if (!company.here(r)) continue;
    const StageState& stage = state(a.device.device(), members[r]).stage(at);
    std::vector<float>& own = packed->own[r];
    each_of_replica(stage, at, l, [&](std::span<float> weights, std::byte*, std::int64_t) {
      own.insert(own.end(), weights.begin(), weights.end());
    });
    for (const std::span<float> slot : averaged_state(stage, at, l))
      own.insert(own.end(), slot.begin(), slot.end());
    numbers = own.size();
    packed->sum[r].resize(numbers);
    from[r] = reinterpret_cast<const std::byte*>(own.data());
    to[r] = reinterpret_cast<std::byte*>(packed->sum[r].data());
  }
  return after(all_reduce(company, from, to, DType::F32, static_cast<std::int64_t>(numbers), false),
               [this, packed, device = a.device.device(), at, l, company, members] {
                 for (std::size_t r = 0; r < members.size(); ++r)
                   if (company.here(r))
                     go_on_from(state(device, members[r]), at, l, packed->sum[r]);
                 return TravelPtr();
               });
}

void CpuExecution::go_on_from(DeviceState& device, std::size_t at, std::size_t l,
                              std::span<const float> sum) const {
  StageState& stage = device.stage(at);
  const auto next = [&](std::size_t count) {
    const std::span<const float> numbers = sum.first(count);
    sum = sum.subspan(count);
    return numbers;
  };
  each_of_replica(
      stage, at, l, [&](std::span<float> weights, std::byte* narrow, std::int64_t index) {
        const std::span<const float> all = next(weights.size());
        if (sync_.how == Sync::Easgd)
          pull_together(weights, std::span(kept_before(stage, at) + index, weights.size()), all,
                        sync_.replicas, sync_.elasticity);
        else
          take_mean(weights, all, sync_.replicas);
        if (narrow != nullptr)
          from_floats(weights.data(), narrow, plan_.workload.layout.precision.parameter,
                      static_cast<std::int64_t>(weights.size()));
      });
  for (const std::span<float> slot : averaged_state(stage, at, l))
    take_mean(slot, next(slot.size()), sync_.replicas);
}

// The centre begins where all replicas do.
void CpuExecution::begin_centre(const StageState& stage, std::size_t at, const StatePart& part,
                                const PlacedParameter& p, std::span<const float> whole) const {
  if (sync_.how != Sync::Easgd || part.optimizer.share == 0) return;
  std::copy(whole.begin(), whole.end(),
            kept_before(stage, at) + part.optimizer.at + p.offset - part.first);
}

// Returns the tensor of the model that replicas train together: at the centre or at the server, or
// the mean of replicas, which have gone apart since they met.
std::vector<float> CpuExecution::parameter_of_all(std::size_t at, const PlacedLayer& layer,
                                                  const PlacedParameter& p) const {
  if (sync_.served()) return parameter_of_server(at, layer, p);
  const StatePart& part = layer.part_of(p);
  const std::int64_t index = part.optimizer.at + p.offset - part.first;
  const DeviceId device = plan_.places[at].device;
  const auto elements = static_cast<std::size_t>(p.elements);
  if (sync_.how == Sync::Easgd) {
    const float* const centre = kept_before(state(device, 0).stage(at), at) + index;
    return {centre, centre + elements};
  }
  std::vector<double> sum(elements);
  for (int peer = 0; peer < peers(); ++peer) {
    const StageState& stage = state(device, peer).stage(at);
    const float* const weights =
        weight_update_ == WeightUpdate::Master
            ? reinterpret_cast<const float*>(stage.optimizer[0].data) + index
            : reinterpret_cast<const float*>(
                  part.held.of(stage.weights[0].data, p.offset - part.first));
    for (std::size_t i = 0; i < elements; ++i) sum[i] += weights[i];
  }
  std::vector<float> mean;
  for (const double one : sum) mean.push_back(static_cast<float>(one / peers()));
  return mean;
}

}  // namespace trainyard
