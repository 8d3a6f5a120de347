// A Placement says on which device, or which two devices, each stage of a pipeline lies.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/ids.h"

namespace trainyard {

/// In the comments below there are p devices and s = v p stages, v chunks per device.
enum class Placement : std::uint8_t {
  Cyclic,      // stage i on device i mod p (Narayanan et al., SC 2021); v = 1 is the plain pipeline
  Contiguous,  // stage i on device i / v: consecutive stages share a device
  V,  // even chunks run down the devices and odd ones back up, so that the first and the last stage
      // share device 0 (Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024)
  Bidirectional,  // v = 1 and every stage has two copies: copy 0 of stage i on device i, copy 1 on
                  // device p-1-i (Li and Hoefler, "Chimera", SC 2021)
};
std::string_view to_string(Placement);  // "cyclic"

/// Returns how many devices hold a copy of each stage: 2 for Bidirectional, else 1.
int copies(Placement);
/// Returns the device of a copy, with 0 <= copy < copies().
DeviceId device_of(StageId, int devices, int stages, Placement, int copy = 0);

}  // namespace trainyard
