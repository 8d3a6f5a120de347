// The settings that say what a plan runs on beside its hardware: framework, kernels, attention.
#pragma once

#include <vector>

#include "core/methods/settings/setting.h"

namespace trainyard {

/// Each reads back "" where the plan leaves it open.
std::vector<Setting> software_settings();

}  // namespace trainyard
