// The catalogue's schedules as starting points: what a solver must never be worse than.
#pragma once

#include <string>

#include "planners/pipeline.h"

namespace trainyard {

struct NamedLanes {
  std::string name;
  Lanes lanes;
};

/// The lanes of named_schedules(). A schedule with whole backwards runs them in two parts where
/// backwards are split, and is then called so.
std::vector<NamedLanes> named_lanes(const Pipeline&);

}  // namespace trainyard
