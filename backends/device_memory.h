// Joins what devices held in a run that consists of parts: phases, or devices that took another's
// place.
#pragma once

#include <vector>

#include "backends/backend.h"

namespace trainyard {

/// Takes in what devices held in another part of the run: each figure at its own most, as a device
/// with the most of all parts would have it.
void add_memory(std::vector<DeviceMemory>& all, const std::vector<DeviceMemory>& more);

}  // namespace trainyard
