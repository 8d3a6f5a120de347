// This file determines the generation of a device; the figures of the physical cost model differ by
// generation.
#pragma once

#include <cstdint>

#include "core/cluster/device.h"

namespace trainyard {

/// The generation decides which parameters apply to a device; Other uses figures of the device
/// itself (Device::efficiency).
enum class Generation : std::uint8_t { Other, Volta, Ampere, Hopper, Blackwell, Tpu };
Generation generation(const Device&);

}  // namespace trainyard
