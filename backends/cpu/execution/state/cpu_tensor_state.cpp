// Implements state that an optimizer keeps by tensor (core/methods/precision/tensor_state.h): where
// it lies, behind what is kept of every parameter, and the products that muon makes.
#include <algorithm>

#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/kernels/product.h"
#include "core/base/error.h"

namespace trainyard {

// Tensors lie in the order in which they are updated, of what each peer has of them.
void CpuExecution::find_tensor_state() {
  const Plan& plan = plan_.workload.scenario.plan;
  if (!keeps_tensor_state(plan)) return;
  scaled_ = scaled_formats(formats());
  if (plan.optimizer == kMuon) product_ = multiply_floats;
  for (std::size_t at = 0; at < plan_.places.size(); ++at)
    for (const PlacedLayer& layer : plan_.places[at].layers) {
      const LayerLayout& layout = plan_.layouts[static_cast<std::size_t>(layer.layout)];
      for (const PlacedParameter& p : layer.parameters)
        shape_of_.push_back(matrix_shape(*layout.graph, p.tensor, layout.body->binding));
    }
  tensor_state_.resize(static_cast<std::size_t>(peers()));
  for (int peer = 0; peer < peers(); ++peer) {
    TensorStateOfPeer& of = tensor_state_[static_cast<std::size_t>(peer)];
    for (const StagePlacement& place : plan_.places) {
      std::int64_t bytes = 0;
      for (const PlacedLayer& layer : place.layers)
        for (const PlacedParameter& p : layer.parameters) {
          const std::size_t norm = of.at.size();
          of.at.push_back(bytes);
          if (!has_own_state(p) || p.frozen) continue;
          const StatePart& part = layer.part_of(p);
          const PartRange updated = held_range(part, part.optimizer, peer);
          const std::int64_t begin = std::max(updated.first, p.offset),
                             end = std::min(updated.first + updated.count, p.offset + p.elements);
          if (begin < end)
            bytes += tensor_state_bytes(plan, shape_of_[norm], begin - p.offset, end - begin,
                                        bytes_of_tensor_slot())
                         .value;
        }
      of.bytes.push_back(bytes);
    }
  }
}

std::byte* CpuExecution::tensor_state(const Allocation& held, std::ptrdiff_t behind,
                                      std::size_t norm, std::size_t at, int peer) const {
  const TensorStateOfPeer& of = tensor_state_[static_cast<std::size_t>(peer)];
  if (of.bytes[at] > held.bytes.value)
    refuse("the optimizer keeps " + std::to_string(of.bytes[at]) +
           " bytes by tensor, and the program has " + std::to_string(held.bytes.value));
  return held.data + behind + (held.bytes.value - of.bytes[at] + of.at[norm]);
}

ScaledNumbers CpuExecution::scaled_main(const Allocation& held, std::ptrdiff_t behind,
                                        std::size_t at, const PlacedLayer& layer,
                                        const PlacedParameter& p, int peer) const {
  const auto l = static_cast<std::size_t>(&layer - plan_.places[at].layers.data());
  const std::size_t norm =
      norms_at_[at][l] + static_cast<std::size_t>(&p - layer.parameters.data());
  const StatePart& part = layer.part_of(p);
  const PartRange updated = held_range(part, part.optimizer, peer);
  const std::int64_t begin = std::max(updated.first, p.offset),
                     end = std::min(updated.first + updated.count, p.offset + p.elements);
  return {scaled_, begin - p.offset, std::max<std::int64_t>(0, end - begin),
          tensor_state(held, behind, norm, at, peer)};
}

}  // namespace trainyard
