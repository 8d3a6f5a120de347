// Prints the answer of `trainyard goodput`: as tables and sentences that follow from it, or as one
// trainyard/goodput document.
#pragma once

#include <string>

#include "core/io/json/json.h"
#include "core/reliability/goodput.h"

namespace trainyard {

std::string goodput_text(const GoodputAnswer&);
Json goodput_schema();
std::string goodput_document(const GoodputAnswer&);

}  // namespace trainyard
