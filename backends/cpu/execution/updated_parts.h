// Enumerates the parameters, or parts of them, that one device updates, with their state.
#pragma once

#include <algorithm>
#include <vector>

#include "backends/cpu/execution/cpu_execution.h"

namespace trainyard {

inline std::byte* element_at(std::byte* base, std::int64_t index, std::size_t each) {
  return base + static_cast<std::size_t>(index) * each;
}

// Calls f(part, index of its norms) for every parameter, or part of one, that the device updates.
template <class F>
void CpuExecution::each_part(DeviceState& device, std::size_t at, std::size_t set, F&& f) {
  const StagePlacement& place = plan_.places[at];
  const Layout& layout = plan_.workload.layout;
  StageState& stage = device.stage(at);
  const std::size_t weight_each = static_cast<std::size_t>(bytes_of(layout.precision.parameter)),
                    gradient_each = static_cast<std::size_t>(bytes_of(layout.precision.gradient));
  const bool pure = weight_update_ == WeightUpdate::Nearest ||
                    weight_update_ == WeightUpdate::Stochastic ||
                    weight_update_ == WeightUpdate::Kahan;
  const std::size_t state_each = pure ? 2 : 4;
  const std::size_t slots = rule_->slots().size();
  std::byte* const state = stage.optimizer.empty()
                               ? nullptr
                               : stage.optimizer[std::min(set, stage.optimizer.size() - 1)].data;
  std::byte* const weights = stage.weights[std::min(set, stage.weights.size() - 1)].data;
  std::byte* const gradients = stage.gradients[std::min(set, stage.gradients.size() - 1)].data;
  const bool master = weight_update_ == WeightUpdate::Master;
  float* const derived_weights = derived(stage, at, set);
  std::vector<void*> slot_of(slots);
  for (std::size_t l = 0; l < place.layers.size(); ++l) {
    const PlacedLayer& layer = place.layers[l];
    const std::int64_t shards = layout.optimizer_shards;
    const std::int64_t rank = plan_.peers.data_rank(device.peer()) % shards;
    const std::int64_t from =
        shards > 1 ? std::min(layer.elements, rank * layer.optimizer_share) : 0;
    const std::int64_t to =
        shards > 1 ? std::min(layer.elements, from + layer.optimizer_share) : layer.elements;
    for (std::size_t i = 0; i < layer.parameters.size(); ++i) {
      const PlacedParameter& p = layer.parameters[i];
      if (p.owner >= 0 || (!p.tied_to.empty() && !layout.tied_copies)) continue;
      const std::int64_t begin = std::max(from, p.offset),
                         end = std::min(to, p.offset + p.elements);
      if (begin >= end) continue;
      ParameterPart part;
      part.elements = end - begin;
      part.weight_type = layout.precision.parameter;
      part.gradient_type = layout.precision.gradient;
      part.weights = element_at(
          weights, layer.weights_at + begin - (layout.weight_shards > 1 ? from : 0), weight_each);
      part.gradients = element_at(
          gradients, layer.gradients_at + begin - (layout.gradient_shards > 1 ? from : 0),
          gradient_each);
      const std::int64_t in_state = layer.optimizer_at + begin - from;
      std::byte* slot = state;
      if (master) {
        part.master = reinterpret_cast<float*>(slot) + in_state;
        slot += static_cast<std::size_t>(place.optimizer) * 4;
      }
      if (derived_weights != nullptr) {
        part.derived = derived_weights + in_state;
        slot += static_cast<std::size_t>(place.optimizer) * sizeof(float);
      }
      for (std::size_t k = 0; k < slots; ++k) {
        slot_of[k] = element_at(slot, in_state, state_each);
        slot += static_cast<std::size_t>(place.optimizer) * state_each;
      }
      part.state = slot_of;
      part.decays = part.adapts = p.matrix;
      part.id = (static_cast<std::uint64_t>(layer.model_layer) << 20) + p.tensor.value;
      part.first = begin - p.offset;
      f(part, norms_at_[at][l] + i);
    }
  }
}

}  // namespace trainyard
