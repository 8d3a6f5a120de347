// Implements the loss of a device between two updates, and what another takes over of its state.
#include <cstring>

#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/execution/state/updated_parts.h"
#include "core/base/packed.h"

namespace trainyard {

std::vector<CpuExecution::HeldPart> CpuExecution::held_parts(int peer) {
  std::vector<HeldPart> held;
  const std::vector<std::string_view> slots = rule().slots();
  for (std::size_t at = 0; at < plan_.places.size(); ++at) {
    const StagePlacement& place = plan_.places[at];
    for (std::size_t l = 0; l < place.layers.size(); ++l)
      each_part_of(state(place.device, peer), at, 0, l, 0,
                   [&](const ParameterPart& part, std::size_t norm) {
                     HeldPart one{place.layers[l].model_layer,
                                  parameter_of_[norm]->tensor,
                                  part.first,
                                  part.elements,
                                  part.weight_type,
                                  {}};
                     const auto holds = [&](void* numbers, int each) {
                       one.states.push_back(
                           {static_cast<std::byte*>(numbers), static_cast<std::size_t>(each)});
                     };
                     if (part.master != nullptr) {
                       one.type = DType::F32;
                       holds(part.master, bytes_of(DType::F32));
                     }
                     holds(part.weights, bytes_of(part.weight_type));
                     for (std::size_t k = 0; k < part.state.size(); ++k)
                       holds(part.state[k], bytes_of_slot(slots[k]));
                     held.push_back(std::move(one));
                   });
  }
  return held;
}

void CpuExecution::replace(DeviceId device, int peer) {
  constexpr int kNoNumber = 0xff;
  begin_device(device, peer);
  for (const HeldPart& part : held_parts(peer))
    for (const HeldState& held : part.states)
      std::memset(held.data, kNoNumber, static_cast<std::size_t>(part.elements) * held.each);
  state(device, peer).arena().take_wave();  // which is of no step
}

std::string CpuExecution::shared_state() const {
  std::string bytes;
  append(bytes, updates_);
  append(bytes, consumed());
  append(bytes, scaler_.state());
  append(bytes, skip_);
  append(bytes, jobs_.front().gradient_norm);
  append_list(bytes, jobs_.front().part_losses);
  return bytes;
}

void CpuExecution::go_on(std::string_view shared_state) {
  Pieces pieces(shared_state);
  const auto updates = pieces.next<std::int64_t>(), consumed = pieces.next<std::int64_t>();
  go_on(updates, consumed);
  scaler_.restore(pieces.next<LossScaler::State>());
  skip_ = pieces.next<bool>();
  jobs_.front().gradient_norm = pieces.next<double>();
  jobs_.front().part_losses = pieces.list<double>();
}

}  // namespace trainyard
