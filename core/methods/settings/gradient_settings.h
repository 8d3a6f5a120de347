// This file has the settings for how replicas divide their state and exchange gradients.
#pragma once

#include <vector>

#include "core/methods/settings/setting.h"

namespace trainyard {

std::vector<Setting> gradient_settings();

}  // namespace trainyard
