// A result as a person reads it on a terminal: verdict first, then how fast, where memory and time
// go, and what to change.
#pragma once

#include <string>

#include "core/result/result.h"

namespace trainyard {

std::string result_text(const Result&);

}  // namespace trainyard
