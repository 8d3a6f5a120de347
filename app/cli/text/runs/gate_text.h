// Writes what a gate of quality found as text.
#pragma once

#include <string>

#include "core/quality/quality_gate.h"

namespace trainyard {

std::string gate_text(const GateReport&);

}  // namespace trainyard
