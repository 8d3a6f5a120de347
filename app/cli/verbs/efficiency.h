// Implements `hardware --efficiency`: what devices compute for each watt.
#pragma once

#include <string>

#include "core/io/json/json.h"

namespace trainyard {

/// The tutorial's engines, then the devices of the catalogue whose board limit is stated.
std::string efficiency_text();
/// Returns the figures of efficiency_text() as a document.
std::string efficiency_document();
Json efficiency_schema();

}  // namespace trainyard
