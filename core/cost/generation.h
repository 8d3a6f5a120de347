// The generation of a device, by which the figures of the physical cost model differ.
#pragma once

#include <cstdint>

#include "core/cluster/device.h"

namespace trainyard {

/// Which parameters a device reads; others take figures of its own (Device::efficiency).
enum class Generation : std::uint8_t { Other, Volta, Ampere, Hopper, Blackwell, Tpu };
Generation generation(const Device&);

}  // namespace trainyard
