// A study of placement as one trainyard/placement document, which both programs write.
#pragma once

#include <string>

#include "core/io/json/json.h"
#include "planners/placement/placement_study.h"

namespace trainyard {

Json placement_schema();
std::string placement_document(const PlacementStudy&);

}  // namespace trainyard
