// The catalogue's schedules as starting points: what a solver must never be worse than.
#pragma once

#include <string>

#include "planners/pipeline.h"

namespace trainyard {

struct NamedLanes {
  std::string name;
  Lanes lanes;
};

/// Every schedule of the catalogue that is legal for these counts and this placement, synchronous
/// and one lane a device, whether or not it keeps the limits. A schedule with whole backwards runs
/// them in two parts where backwards are split.
std::vector<NamedLanes> named_lanes(const Pipeline&);

}  // namespace trainyard
