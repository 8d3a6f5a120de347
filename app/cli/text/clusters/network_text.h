// Prints how busy links were in a step and which transfers waited for which, as text and as the
// document trainyard/network@1.
#pragma once

#include <string>

#include "core/io/json/json.h"
#include "core/network/network_use.h"

namespace trainyard {

/// The busiest links, the worst first, and the longest waits.
std::string network_text(const NetworkUse&);
std::string network_document(const NetworkUse&);
Json network_schema();

}  // namespace trainyard
