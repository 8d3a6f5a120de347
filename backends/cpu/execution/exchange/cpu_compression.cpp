// Implements how replicas exchange compressed gradients (core/methods/parallel/compression.cpp).
// A replica keeps what it has not sent behind the optimizer's state, and the velocity that dgc adds
// up is the optimizer's own, so that a checkpoint has both of every replica.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/execution/exchange/reduction.h"
#include "backends/cpu/kernels/convert.h"
#include "core/base/random.h"
#include "core/training/compression.h"

namespace trainyard {
namespace {

template <class T>
void append_bytes(std::vector<std::byte>& into, const T* from, std::size_t count) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(from);
  into.insert(into.end(), bytes, bytes + count * sizeof(T));
}

double energy_of(std::span<const float> values) {
  return square_sum(values.data(), DType::F32, static_cast<std::int64_t>(values.size()));
}

}  // namespace

// Returns whether the rule adds weight decay to the gradient; other rules decay weights apart.
bool CpuExecution::decays_gradients() const {
  const std::string_view name = rule().name();
  return name == "sgd" || name == "momentum" || name == "adam" || name == "adagrad";
}

// Calls f(parameter, where its elements begin in the stage's gradients and optimizer state) for the
// trained parameters of a layer that replicas compress, or for those that stay dense.
template <class F>
void CpuExecution::each_exchanged(std::size_t at, std::size_t l, bool compressed, F&& f) const {
  const PlacedLayer& layer = plan_.places[at].layers[l];
  for (const PlacedParameter& p : layer.parameters) {
    if (!is_exchanged(p, compressed)) continue;
    const StatePart& part = layer.part_of(p);
    f(p, part.gradients.at + p.offset - part.first, part.optimizer.at + p.offset - part.first);
  }
}

TravelPtr CpuExecution::exchange_compressed(const At& a, std::span<const int> members) {
  if (a.task.collective == CollectiveKind::AllReduce) return exchange_dense(a, members);
  if (a.task.collective == CollectiveKind::ReduceScatter) return scatter_in_node(a, members);
  if (a.task.group == Group::Replica) return exchange_between_nodes(a, members);
  if (a.task.group == Group::Shard) return gather_in_node(a, members);
  return exchange_largest(a, members);
}

// Scales a tensor's own gradient before replicas add it up.
void CpuExecution::clip_local(std::span<float> gradient) const {
  if (compression_.how != Compress::Dgc) return;
  const double threshold = training_.clip * plan_.program.microbatches;
  const auto factor = static_cast<float>(
      local_clip(std::sqrt(energy_of(gradient)), threshold, plan_.peers.replicas()));
  for (float& one : gradient) one *= factor;
}

TravelPtr CpuExecution::exchange_dense(const At& a, std::span<const int> members) {
  const std::size_t l = plan_.layer_of(a.task.layer), at = a.place;
  const DType type = plan_.workload.layout.precision.gradient;
  const auto each = static_cast<std::size_t>(bytes_of(type));
  const Company company = company_of(a, members);
  std::vector<std::int64_t> first, elements;
  each_exchanged(at, l, false, [&](const PlacedParameter& p, std::int64_t from, std::int64_t) {
    first.push_back(from), elements.push_back(p.elements);
  });
  std::int64_t all = 0;
  for (const std::int64_t n : elements) all += n;
  const auto gradients = [this, device = a.device.device(), at, members](std::size_t r) {
    return state(device, members[r]).stage(at).gradients[0].data;
  };
  const auto packed = std::make_shared<std::vector<std::vector<std::byte>>>(members.size());
  std::vector<const std::byte*> from(members.size(), nullptr);
  for (std::size_t r = 0; r < members.size(); ++r) {
    if (!company.here(r)) continue;
    std::vector<std::byte>& bytes = (*packed)[r];
    for (std::size_t t = 0; t < first.size(); ++t) {
      std::byte* const held = gradients(r) + static_cast<std::size_t>(first[t]) * each;
      std::vector<float> gradient(static_cast<std::size_t>(elements[t]));
      to_floats(held, type, gradient.data(), elements[t]);
      clip_local(gradient);
      from_floats(gradient.data(), held, type, elements[t]);
      append_bytes(bytes, held, static_cast<std::size_t>(elements[t]) * each);
    }
    from[r] = bytes.data();
  }
  const std::vector<std::size_t> sizes(members.size(), static_cast<std::size_t>(all) * each);
  return spread(company, from, sizes, [=](std::span<const std::byte* const> parts) -> TravelPtr {
    std::size_t behind = 0;
    for (std::size_t t = 0; t < first.size(); ++t) {
      std::vector<const void*> summed;
      std::vector<void*> outs;
      for (std::size_t r = 0; r < parts.size(); ++r) {
        summed.push_back(parts[r] + behind);
        if (company.here(r))
          outs.push_back(gradients(r) + static_cast<std::size_t>(first[t]) * each);
      }
      sum_into(summed, outs, type, elements[t]);
      behind += static_cast<std::size_t>(elements[t]) * each;
    }
    static_cast<void>(packed);  // in which the parts of this process lie
    return nullptr;
  });
}

// Adds the decay of weights to a gradient of which so many senders each have a part. `in_state` is
// where its first element lies in the optimizer's state.
void CpuExecution::add_decay(const StageState& stage, const PlacedLayer& layer,
                             const PlacedParameter& p, std::int64_t in_state, int senders,
                             std::span<float> gradient) const {
  if (!decays_gradients() || !p.tied_to.empty() || !(training_.weight_decay > 0)) return;
  const StatePart& part = layer.part_of(p);
  const float* const weights =
      weight_update_ == WeightUpdate::Master
          ? reinterpret_cast<const float*>(stage.optimizer[0].data) + in_state
          : reinterpret_cast<const float*>(
                part.held.of(stage.weights[0].data, in_state - part.optimizer.at));
  const auto decay = static_cast<float>(training_.weight_decay * plan_.program.microbatches *
                                        averaged_replicas() / senders);
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += decay * weights[i];
}

// Adds the gradient of a tensor to what has not been sent of it, and packs the largest elements:
// values, then indices.
void CpuExecution::pack_largest(DeviceState& device, std::size_t at, const PlacedLayer& layer,
                                const PlacedParameter& p, const Exchanged& where,
                                std::vector<std::byte>& into) const {
  StageState& stage = device.stage(at);
  const auto n = static_cast<std::size_t>(p.elements);
  const DType type = plan_.workload.layout.precision.gradient;
  const bool master = weight_update_ == WeightUpdate::Master;
  const auto held = static_cast<std::size_t>(plan_.places[at].optimizer);
  float* const state = reinterpret_cast<float*>(stage.optimizer[0].data) + where.in_state;
  const std::size_t slots = rule().slots().size();
  const std::span<float> unsent(state + ((master ? 1 : 0) + slots) * held, n);
  std::vector<float> gradient(n);
  to_floats(stage.gradients[0].data + static_cast<std::size_t>(where.in_gradients * bytes_of(type)),
            type, gradient.data(), p.elements);
  clip_local(gradient);
  add_decay(stage, layer, p, where.in_state, plan_.peers.replicas(), gradient);
  std::span<float> velocity;
  if (!compression_.residuals) std::fill(unsent.begin(), unsent.end(), 0.f);
  if (compression_.how == Compress::Dgc && slots > 0) {
    velocity = {state + (master ? 1 : 0) * held, n};
    correct_momentum(gradient, static_cast<float>(training_.momentum), training_.nesterov, velocity,
                     unsent);
  } else {
    for (std::size_t i = 0; i < n; ++i) unsent[i] += gradient[i];
  }
  const std::int64_t k =
      sent_elements(p.elements, ratio_at(compression_.ratio, compression_.warmup, updates_));
  const std::uint64_t tensor =
      (static_cast<std::uint64_t>(layer.model_layer) << 20) + p.tensor.value;
  const std::vector<std::uint32_t> chosen =
      compression_.how == Compress::MsTopK
          ? multi_sampling_top_k(
                unsent, k, kBisectionRounds,
                Random(seed_of(training_, RandomSource::Rounding), tensor)
                    .bits(static_cast<std::uint64_t>(updates_ * peers() + device.peer())))
          : top_k(unsent, k);
  double energy[] = {energy_of(unsent), 0};
  std::vector<float> values;
  // The momentum of what waits has grown old by the time that it is sent. Where all is sent,
  // nothing waits, and the velocity goes on as that of plain momentum.
  const bool masks = compression_.masking && k < p.elements && !velocity.empty();
  for (const std::uint32_t i : chosen) {
    values.push_back(unsent[i]);
    unsent[i] = 0;
    if (masks) velocity[i] = 0;
  }
  energy[1] = energy_of(values);
  append_bytes(into, energy, 2);
  append_bytes(into, values.data(), values.size());
  append_bytes(into, chosen.data(), chosen.size());
}

TravelPtr CpuExecution::exchange_largest(const At& a, std::span<const int> members) {
  const std::size_t l = plan_.layer_of(a.task.layer), at = a.place;
  const Company company = company_of(a, members);
  const PlacedLayer& layer = plan_.places[at].layers[l];
  const DeviceId device = a.device.device();
  const auto packed = std::make_shared<std::vector<std::vector<std::byte>>>(members.size());
  std::vector<const std::byte*> from(members.size(), nullptr);
  std::size_t bytes = 0;
  const double ratio = ratio_at(compression_.ratio, compression_.warmup, updates_);
  each_exchanged(at, l, true, [&](const PlacedParameter& p, std::int64_t, std::int64_t) {
    bytes += 2 * sizeof(double) +
             static_cast<std::size_t>(sent_elements(p.elements, ratio) * kSentBytes);
  });
  for (std::size_t r = 0; r < members.size(); ++r) {
    if (!company.here(r)) continue;
    std::vector<std::byte>& into = (*packed)[r];
    into.reserve(bytes);
    each_exchanged(
        at, l, true, [&](const PlacedParameter& p, std::int64_t gradients, std::int64_t state_at) {
          pack_largest(state(device, members[r]), at, layer, p, {gradients, state_at}, into);
        });
    from[r] = into.data();
  }
  return spread(company, from, std::vector<std::size_t>(members.size(), bytes),
                [=, this](std::span<const std::byte* const> parts) -> TravelPtr {
                  add_largest(device, at, l, ratio, members, company, parts);
                  static_cast<void>(packed);  // in which the parts of this process lie
                  return nullptr;
                });
}

// Replaces gradients by the sums of what came, which each part has tensor by tensor.
void CpuExecution::add_largest(DeviceId device, std::size_t at, std::size_t l, double ratio,
                               std::span<const int> members, const Company& company,
                               std::span<const std::byte* const> parts) {
  const DType type = plan_.workload.layout.precision.gradient;
  Combined& found = combined_[at][l];
  found = {};
  std::size_t behind = 0;
  const auto take = [&](const std::byte* part, auto& one, std::size_t place) {
    std::memcpy(&one, part + behind + place, sizeof one);
  };
  each_exchanged(at, l, true, [&](const PlacedParameter& p, std::int64_t first, std::int64_t) {
    std::vector<float> sum(static_cast<std::size_t>(p.elements));
    const auto k = static_cast<std::size_t>(sent_elements(p.elements, ratio));
    for (const std::byte* part : parts) {
      double energy[2];
      take(part, energy, 0);
      found.parts += energy[0], found.whole += energy[1];
      for (std::size_t i = 0; i < k; ++i) {
        float value = 0;
        std::uint32_t index = 0;
        take(part, value, sizeof energy + i * sizeof value);
        take(part, index, sizeof energy + k * sizeof value + i * sizeof index);
        sum[index] += value;
      }
    }
    behind += 2 * sizeof(double) + k * static_cast<std::size_t>(kSentBytes);
    for (std::size_t r = 0; r < members.size(); ++r)
      if (company.here(r))
        from_floats(sum.data(),
                    state(device, members[r]).stage(at).gradients[0].data +
                        static_cast<std::size_t>(first * bytes_of(type)),
                    type, p.elements);
  });
}

}  // namespace trainyard
