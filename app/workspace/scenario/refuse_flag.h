#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"

namespace trainyard {

/// Throws Error{InvalidInput} whose place is the flag; pass the flag without its dashes.
[[noreturn]] inline void refuse_flag(std::string_view flag, const std::string& message) {
  throw Error(Error::Kind::InvalidInput, message, {"--" + std::string(flag)});
}

}  // namespace trainyard
