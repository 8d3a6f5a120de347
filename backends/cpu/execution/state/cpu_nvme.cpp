// Implements optimizer state on NVMe: a device's file has the state of each layer in one piece, and
// updates find it in a buffer of the host. A piece has the weights that the optimizer updates (the
// master copy, or without one the weights themselves), then each kind of moment.
#include "backends/cpu/execution/state/updated_parts.h"
#include "core/methods/memory/offload.h"

namespace trainyard {

Bytes CpuExecution::in_file(const PlacedLayer& layer, std::int64_t bytes_before) const {
  return Bytes{layer.in_file * nvme_bytes_a_parameter(plan_.workload.layout) + bytes_before};
}

std::span<std::byte> CpuExecution::state_in_buffer(const DeviceState& device,
                                                   const PlacedLayer& layer) const {
  return {
      device.buffer_of(layer),
      static_cast<std::size_t>(layer.optimizer * nvme_bytes_a_parameter(plan_.workload.layout))};
}

void CpuExecution::move_state(const At& a) {
  const PlacedLayer& layer = plan_.places[a.place].layers[plan_.layer_of(a.task.layer)];
  const std::span<std::byte> piece = state_in_buffer(a.device, layer);
  if (a.task.kind == TaskKind::NvmeRead)
    a.device.nvme()->read(in_file(layer, 0), piece);
  else
    a.device.nvme()->write(in_file(layer, 0), piece);
}

std::vector<std::byte> CpuExecution::read_nvme_weights(const DeviceState& device,
                                                       const PlacedLayer& layer) const {
  std::vector<std::byte> weights(static_cast<std::size_t>(layer.optimizer) *
                                 bytes_of_nvme_weight());
  device.nvme()->read(in_file(layer, 0), weights);
  return weights;
}

void CpuExecution::write_nvme_weights(DeviceState& device, const PlacedLayer& layer,
                                      std::int64_t index, std::span<const std::byte> weights) {
  device.nvme()->write(in_file(layer, index * static_cast<std::int64_t>(bytes_of_nvme_weight())),
                       weights);
}

std::vector<std::byte> CpuExecution::state_on_nvme(const DeviceState& device,
                                                   std::size_t at) const {
  if (!on_nvme()) return {};
  const StagePlacement& place = plan_.places[at];
  std::vector<std::byte> state(
      static_cast<std::size_t>(place.optimizer * nvme_bytes_a_parameter(plan_.workload.layout)));
  device.nvme()->read(in_file(place.layers.front(), 0), state);
  return state;
}

void CpuExecution::set_state_on_nvme(DeviceState& device, std::size_t at,
                                     std::span<const std::byte> state) {
  device.nvme()->write(in_file(plan_.places[at].layers.front(), 0), state);
}

}  // namespace trainyard
