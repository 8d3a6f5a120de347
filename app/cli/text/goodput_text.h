// What `trainyard goodput` prints: the answer as tables with what follows from it in sentences, or
// as one trainyard/goodput document.
#pragma once

#include <string>

#include "core/io/json/json.h"
#include "core/reliability/goodput.h"

namespace trainyard {

std::string goodput_text(const GoodputAnswer&);
Json goodput_schema();
std::string goodput_document(const GoodputAnswer&);

}  // namespace trainyard
