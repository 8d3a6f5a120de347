// Prints where the energy of a step goes by operation and memory level.
#pragma once

#include <string>

#include "core/result/result.h"

namespace trainyard {

/// A table of Result::operations with its sum, and what it is not; "" where they are empty.
std::string operation_energy_text(const Result&);

}  // namespace trainyard
