// This file lists the keys that Hugging Face configs are known to have, whether or not they change
// the model.
#pragma once

#include <string_view>

namespace trainyard {

bool is_known_hf_key(std::string_view);

}  // namespace trainyard
