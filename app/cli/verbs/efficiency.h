// Implements `hardware --efficiency`: what devices compute for each watt.
#pragma once

#include <string>

namespace trainyard {

/// The tutorial's engines, then the devices of the catalogue whose board limit is stated.
std::string efficiency_text();

}  // namespace trainyard
