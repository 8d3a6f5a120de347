// This file has the settings for what a plan runs on beside its hardware: framework, kernels,
// attention.
#pragma once

#include <vector>

#include "core/methods/settings/setting.h"

namespace trainyard {

/// Each setting reads back as "" where the plan leaves it open.
std::vector<Setting> software_settings();

}  // namespace trainyard
