// This file has the settings for which weights of a model a plan trains.
#pragma once

#include <vector>

#include "core/methods/settings/setting.h"

namespace trainyard {

/// Where the plan trains all weights of the model as they are, the ranks of adapters and of tensor
/// trains and the sparsity read back as "off", frozen parts as "none", and what else is said of any
/// of them as "".
std::vector<Setting> trained_settings();

}  // namespace trainyard
