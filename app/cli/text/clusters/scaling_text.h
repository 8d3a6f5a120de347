// What `trainyard scaling` prints: a study as tables with what follows from them in sentences, or
// as one trainyard/scaling document.
#pragma once

#include <string>

#include "core/estimate/scaling.h"
#include "core/io/json/json.h"

namespace trainyard {

std::string scaling_text(const ScalingStudy&);
Json scaling_schema();
std::string scaling_document(const ScalingStudy&);

}  // namespace trainyard
