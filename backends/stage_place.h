// Where executors keep the copies of a stage: a place for each, by stage, then copy.
#pragma once

#include <cstddef>

#include "core/program/program.h"

namespace trainyard {

/// The place that an instruction of that stage, device and wave works on. In the middle of an odd
/// number of devices both copies of a stage share one, and the wave tells.
inline std::size_t stage_place(const Program& p, StageId stage, DeviceId device,
                               std::int16_t wave) {
  const auto per_stage = static_cast<std::size_t>(copies(p.placement));
  const std::size_t first = stage.value * per_stage;
  if (per_stage == 1) return first;
  const DeviceId zero = device_of(stage, p.devices, p.stages, p.placement, 0),
                 one = device_of(stage, p.devices, p.stages, p.placement, 1);
  if (zero == one) return first + static_cast<std::size_t>(wave & 1);
  return zero == device ? first : first + 1;
}

}  // namespace trainyard
