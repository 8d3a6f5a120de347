// This file has the settings for what devices keep: activations, offloaded state, formats of
// numbers.
#pragma once

#include <vector>

#include "core/methods/settings/setting.h"

namespace trainyard {

std::vector<Setting> memory_settings();

}  // namespace trainyard
