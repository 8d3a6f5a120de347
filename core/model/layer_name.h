// The name by which people are told of one layer of a model.
#pragma once

#include <string>

#include "core/model/model.h"

namespace trainyard {

/// Names a layer by its block: "layers 3", or "lm_head" where the block has one alone. `layer`
/// counts over all blocks, from 0; one beyond the last is "layer 99".
std::string layer_name(const Model&, std::size_t layer);

}  // namespace trainyard
