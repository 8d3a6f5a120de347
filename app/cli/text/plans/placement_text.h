// Prints `trainyard place`: what policies of placement come to on the same traces of jobs.
#pragma once

#include <string>

#include "planners/placement/placement_study.h"

namespace trainyard {

std::string placement_text(const PlacementStudy&);

}  // namespace trainyard
