// Prints `trainyard place`: what policies of placement come to on the same traces of jobs.
#pragma once

#include <string>

#include "core/io/json/json.h"
#include "planners/placement/placement_study.h"

namespace trainyard {

std::string placement_text(const PlacementStudy&);
std::string placement_document(const PlacementStudy&);
Json placement_schema();

}  // namespace trainyard
