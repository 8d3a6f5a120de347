// This file has the settings for which weights of a model a plan trains.
#pragma once

#include <vector>

#include "core/methods/settings/setting.h"

namespace trainyard {

/// Where the plan trains all weights of the model, the rank of adapters and the sparsity read back
/// as "off", frozen parts as "none", and what else is said of adapters and sparse weights as "".
std::vector<Setting> trained_settings();

}  // namespace trainyard
