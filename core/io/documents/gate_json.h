// The document of a gate of quality, trainyard/gate@1.
#pragma once

#include <string>
#include <string_view>

#include "core/io/json/fields.h"
#include "core/quality/quality_gate.h"

namespace trainyard {

const Fields<GateReport>& gate_fields();
/// Reads a report and judges it by its own limits. Throws Error{InvalidInput} for what is no such
/// document, or where lists by task are not as long as the tasks.
GateReport read_gate(std::string_view text, const std::string& source);

}  // namespace trainyard
