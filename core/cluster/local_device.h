// Tells devices on which plans run for real, on this machine, from those of clusters.
#pragma once

#include "core/cluster/device.h"

namespace trainyard {

/// True for the catalogue's device "cpu", a core of this machine that the CPU backend runs on.
inline bool is_local_core(const Device& device) { return device.id == "cpu"; }

}  // namespace trainyard
