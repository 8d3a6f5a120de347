// Implements what devices leave with their hosts: activations between forward and backward, and
// updates, from gradients that go down to weights that come up.
#include <cstring>

#include "backends/cpu/execution/seen_by_rules.h"
#include "backends/cpu/execution/state/updated_parts.h"
#include "backends/cpu/kernels/flush_subnormals.h"
#include "core/base/error.h"
#include "core/program/offloaded.h"

namespace trainyard {

void CpuExecution::hold_on_host(DeviceState& device, std::size_t at) {
  const StagePlacement& place = plan_.places[at];
  const Precision& precision = plan_.workload.layout.precision;
  StageState& stage = device.stage(at);
  const bool master = weight_update_ == WeightUpdate::Master;
  const auto hold = [&](int each) {
    Allocation held{nullptr, Bytes{place.optimizer * each}, {}, -1};
    if (held.bytes.value == 0) return held;
    held.data = device.host().take(held.bytes);
    std::memset(held.data, 0, static_cast<std::size_t>(held.bytes.value));
    return held;
  };
  if (on_nvme()) {
    const int each = static_cast<int>(bytes_of_nvme_weight()) + bytes_of_slots();
    if (const int told = nvme_bytes_a_parameter(plan_.workload.layout); each != told)
      refuse("a parameter's state takes " + std::to_string(each) +
             " bytes on NVMe, and the plan "
             "says " +
             std::to_string(told));
    device.hold_on_nvme();
  }
  stage.optimizer = {on_nvme() ? Allocation{} : hold((master ? 4 : 0) + bytes_of_slots())};
  stage.host_gradients = {hold(bytes_of(precision.gradient))};
  if (!master && on_nvme()) {
    stage.host_weights = {Allocation{}};  // they pass through the buffers with the moments
    return;
  }
  if (!master) {
    stage.host_weights = {hold(bytes_of(precision.parameter))};
    return;
  }
  const Bytes bytes{place.optimizer * bytes_of(precision.parameter)};
  stage.host_cast.resize(static_cast<std::size_t>(bytes.value));
  stage.host_weights = {{stage.host_cast.data(), bytes, {}, -1}};
}

// The host begins with the weights of the device, initial or resumed.
void CpuExecution::fill_host_weights() {
  for (std::unique_ptr<DeviceState>& device : devices_)
    for (std::size_t at = 0; device != nullptr && at < plan_.places.size(); ++at)
      for (std::size_t l = 0; l < plan_.places[at].layers.size(); ++l)
        if (plan_.places[at].device == device->device()) copy_weights(*device, at, l, false);
}

void CpuExecution::work_with_host(const At& a) {
  if (a.task.kind == TaskKind::HostUpdate) return update_on_host(a);
  if (is_nvme(a.task.kind)) return move_state(a);
  switch (host_cargo(a.task)) {
    case HostCargo::ActivationsDown:
      return a.device.copy_to_host(a.place, a.microbatch, a.task);
    case HostCargo::ActivationsUp:
      return a.device.copy_from_host(a.place, a.microbatch, a.task);
    case HostCargo::Gradients:
      return copy_gradients(a);
    case HostCargo::Weights:
      return copy_weights(a.device, a.place, plan_.layer_of(a.task.layer), true);
  }
}

// The device begins to sum the next step's gradients from 0.
void CpuExecution::copy_gradients(const At& a) {
  const PlacedLayer& layer = plan_.places[a.place].layers[plan_.layer_of(a.task.layer)];
  const Layout& layout = plan_.workload.layout;
  const auto each = static_cast<std::size_t>(bytes_of(layout.precision.gradient));
  StageState& stage = a.device.stage(a.place);
  for (const StatePart& part : layer.parts) {
    const PartRange updated = held_range(part, part.optimizer, a.peer);
    if (part.elements == 0) continue;
    std::byte* const own = element_at(stage.gradients[0].data, part.gradients.at, each);
    if (updated.count > 0)
      std::memcpy(element_at(stage.host_gradients[0].data, part.optimizer.at, each),
                  element_at(own, part.gradients.shards > 1 ? 0 : updated.first - part.first, each),
                  static_cast<std::size_t>(updated.count) * each);
    std::memset(own, 0, static_cast<std::size_t>(part.gradients.share) * each);
  }
}

void CpuExecution::copy_weights(DeviceState& device, std::size_t at, std::size_t l, bool up) {
  const PlacedLayer& layer = plan_.places[at].layers[l];
  const Layout& layout = plan_.workload.layout;
  const auto each = static_cast<std::size_t>(bytes_of(layout.precision.parameter));
  StageState& stage = device.stage(at);
  for (const StatePart& part : layer.parts) {
    const PartRange updated = held_range(part, part.optimizer, device.peer());
    if (updated.count <= 0) continue;
    const std::int64_t first = part.weights.shards > 1 ? 0 : updated.first - part.first;
    std::byte* const here = part.held.of(stage.weights[0].data, first);
    if (stage.host_weights[0].data == nullptr) {
      const std::int64_t index = part.optimizer.at - layer.optimizer_at;
      const std::size_t bytes = static_cast<std::size_t>(updated.count) * each;
      if (up)
        std::memcpy(here, element_at(device.buffer_of(layer), index, each), bytes);
      else
        write_nvme_weights(device, layer, index, {here, bytes});
      continue;
    }
    std::byte* const there = element_at(stage.host_weights[0].data, part.optimizer.at, each);
    std::memcpy(up ? here : there, up ? there : here,
                static_cast<std::size_t>(updated.count) * each);
  }
}

void CpuExecution::update_on_host(const At& a) {
  const FlushSubnormals flush;
  prepare_together();
  if (skip_) return;
  StageState& stage = a.device.stage(a.place);
  StepFacts facts = step_facts(stage, 0);
  const double unclipped = facts.gradient_scale;
  facts.gradient_scale *= jobs_.front().clip(0);
  each_part_of(a.device, a.place, 0, plan_.layer_of(a.task.layer), 0,
               [&](ParameterPart& part, std::size_t norm) {
                 seen_by_rules(part, unclipped, norm, a.place, a.peer,
                               [&] { apply(part, facts, norm, a.place, stage, nullptr); });
               });
}

}  // namespace trainyard
