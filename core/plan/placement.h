// Where the stages of a pipeline live: which device, or which two, holds each of them.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/ids.h"

namespace trainyard {

/// Of p devices and s = v p stages, v chunks a device.
enum class Placement : std::uint8_t {
  Cyclic,      // stage i on device i mod p (Narayanan et al., SC 2021); v = 1 is the plain pipeline
  Contiguous,  // stage i on device i / v: neighbouring stages share a device
  V,  // even chunks run down the devices and odd ones back up, so that first and last stage
      // share device 0 (Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024)
  Bidirectional,  // v = 1 and every stage is there twice: copy 0 of stage i on device i, copy 1 on
                  // device p-1-i (Li and Hoefler, "Chimera", SC 2021)
};
std::string_view to_string(Placement);  // "cyclic"

/// Devices that hold a copy of each stage: 2 for Bidirectional, else 1.
int copies(Placement);
/// The device of a copy, 0 <= copy < copies(). devices and stages as above.
DeviceId device_of(StageId, int devices, int stages, Placement, int copy = 0);

}  // namespace trainyard
