// Words the answer of `trainyard probe`: the staircase of one op as a table with sentences that
// follow from it, or as one trainyard/probe document.
#pragma once

#include <string>

#include "core/cost/width_probe.h"
#include "core/io/json/json.h"

namespace trainyard {

std::string probe_text(const WidthProbe&);
Json probe_schema();
std::string probe_document(const WidthProbe&);

}  // namespace trainyard
