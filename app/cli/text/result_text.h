// Prints a result on a terminal: the verdict first, then the speed, where memory and time go, and
// what to change.
#pragma once

#include <string>

#include "core/result/result.h"

namespace trainyard {

std::string result_text(const Result&);

}  // namespace trainyard
