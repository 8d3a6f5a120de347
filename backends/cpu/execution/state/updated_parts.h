// Enumerates the parameters, or parts of them, that one device updates, with their state.
#pragma once

#include <algorithm>
#include <vector>

#include "backends/cpu/execution/cpu_execution.h"

namespace trainyard {

inline std::byte* element_at(std::byte* base, std::int64_t index, std::size_t each) {
  return base + static_cast<std::size_t>(index) * each;
}

inline constexpr std::size_t kRemainderBytes = sizeof(std::uint16_t);

// Calls f(part, index of its norms) for every parameter of the job, or part of one, that the device
// updates.
template <class F>
void CpuExecution::each_part(DeviceState& device, std::size_t at, std::size_t set, std::size_t job,
                             F&& f) {
  for (std::size_t l = 0; l < plan_.places[at].layers.size(); ++l)
    each_part_of(device, at, set, l, job, f);
}

// Calls f for the parts of one layer only.
template <class F>
void CpuExecution::each_part_of(DeviceState& device, std::size_t at, std::size_t set, std::size_t l,
                                std::size_t job, F&& f) {
  const StagePlacement& place = plan_.places[at];
  const Layout& layout = plan_.workload.layout;
  StageState& stage = device.stage(at);
  const std::size_t weight_each = static_cast<std::size_t>(bytes_of(layout.precision.parameter)),
                    gradient_each = static_cast<std::size_t>(bytes_of(layout.precision.gradient));
  const std::vector<std::string_view> slots = rule().slots();
  std::vector<int> widths;
  for (const std::string_view name : slots) widths.push_back(bytes_of_slot(name));
  const TensorFormats stored = formats();
  const bool remainder = stored.remainder;
  const PlacedLayer& layer = place.layers[l];
  const std::ptrdiff_t behind = static_cast<std::ptrdiff_t>(job) * device.arena().stride();
  const bool master = weight_update_ == WeightUpdate::Master;
  // State lies by place, and that which passes through a buffer by layer.
  const bool passes = on_nvme() && layer.optimizer > 0;
  std::byte* const buffer = passes ? device.buffer_of(layer) : nullptr;
  const std::int64_t kept = passes ? layer.optimizer : place.optimizer,
                     kept_from = passes ? layer.optimizer_at : 0;
  std::byte* const state =
      passes ? element_at(buffer, master ? 0 : layer.optimizer, weight_each)
      : stage.optimizer.empty()
          ? nullptr
          : stage.optimizer[std::min(set, stage.optimizer.size() - 1)].data + behind;
  // The host keeps weights and gradients in the order of the optimizer's state.
  const bool on_host = !stage.host_weights.empty();
  const std::vector<Allocation>& gradient_sets = stage.to_update();
  const bool weights_pass = passes && !master;
  std::byte* const weights =
      weights_pass ? buffer
      : on_host    ? stage.host_weights[0].data
                   : stage.weights[std::min(set, stage.weights.size() - 1)].data + behind;
  std::byte* const gradients = gradient_sets[std::min(set, gradient_sets.size() - 1)].data + behind;
  float* const derived_weights = derived(stage, at, set);
  std::vector<void*> slot_of(slots.size());
  for (std::size_t i = 0; i < layer.parameters.size(); ++i) {
    const PlacedParameter& p = layer.parameters[i];
    if (p.owner >= 0 || (!p.tied_to.empty() && !layout.tied_copies)) continue;
    const StatePart& of = layer.part_of(p);
    const PartRange updated = held_range(of, of.optimizer, device.peer());
    const std::int64_t from = updated.first, begin = std::max(from, p.offset),
                       end = std::min(from + updated.count, p.offset + p.elements);
    if (begin >= end) continue;
    ParameterPart part;
    part.elements = end - begin;
    part.weight_type = layout.precision.parameter;
    part.gradient_type = layout.precision.gradient;
    const std::int64_t in_state = of.optimizer.at + begin - from;
    const auto index = [&](const DividedState& held) {
      return on_host ? in_state : held.at + begin - (held.shards > 1 ? from : of.first);
    };
    const std::int64_t in_kept = in_state - kept_from;
    // The update writes the codes of weights that are kept in 8 bits.
    const bool codes = !on_host && !weights_pass && of.held.codes();
    if (codes) part.weight_type = DType::F8;
    part.weights = on_host || weights_pass
                       ? element_at(weights, weights_pass ? in_kept : in_state, weight_each)
                       : of.held.of(weights, begin - (of.weights.shards > 1 ? from : of.first));
    part.gradients = element_at(gradients, index(of.gradients), gradient_each);
    std::byte* slot = state;
    if (master && !remainder && !stored.scaled_main) {
      part.master = reinterpret_cast<float*>(slot) + in_kept;
      slot += static_cast<std::size_t>(kept) * 4;
    }
    if (derived_weights != nullptr) {
      part.derived = derived_weights + in_state;
      slot += static_cast<std::size_t>(place.optimizer) * sizeof(float);
    }
    // State of 4 bytes comes first, so that its numbers lie at multiples of 4.
    for (const int each : {4, 2})
      for (std::size_t k = 0; k < slots.size(); ++k) {
        if (widths[k] != each) continue;
        slot_of[k] = element_at(slot, in_kept, static_cast<std::size_t>(each));
        slot += static_cast<std::size_t>(kept) * static_cast<std::size_t>(each);
      }
    if (remainder)
      part.master = reinterpret_cast<float*>(element_at(slot, in_kept, kRemainderBytes));
    part.state = slot_of;
    part.decays = part.adapts = p.matrix;
    part.id = (static_cast<std::uint64_t>(layer.model_layer) << 20) + p.tensor.value;
    part.first = begin - p.offset;
    const std::size_t norm = norms_at_[at][l] + i;
    if (!tensor_state_.empty()) {
      part.shape = shape_of_[norm];
      part.tensor_state = tensor_state(stage.optimizer[std::min(set, stage.optimizer.size() - 1)],
                                       behind, norm, at, device.peer());
    }
    f(part, norm);
  }
}

// Calls f(a tensor's 4-byte weights, its 16-bit weights or null, where its elements begin in the
// optimizer's state) for every tensor of a layer that a replica updates as a whole.
template <class F>
void CpuExecution::each_of_replica(const StageState& stage, std::size_t at, std::size_t l,
                                   F&& f) const {
  const PlacedLayer& layer = plan_.places[at].layers[l];
  for (const StatePart& part : layer.parts) {
    if (part.optimizer.share == 0) continue;
    for (const PlacedParameter& p : layer.parameters) {
      if (!has_own_state(p) || &layer.part_of(p) != &part) continue;
      const std::int64_t index = part.optimizer.at + p.offset - part.first;
      std::byte* const weights = part.held.of(stage.weights[0].data, p.offset - part.first);
      const auto elements = static_cast<std::size_t>(p.elements);
      if (weight_update_ == WeightUpdate::Master)
        f(std::span(reinterpret_cast<float*>(stage.optimizer[0].data) + index, elements), weights,
          index);
      else
        f(std::span(reinterpret_cast<float*>(weights), elements), nullptr, index);
    }
  }
}

}  // namespace trainyard
