// The canonical text of a scenario: equal scenarios give equal text on every machine, so its digest
// names a result.
#pragma once

#include <string>

#include "core/plan/plan.h"

namespace trainyard {

/// Model, cluster and every setting of the plan, one a line.
std::string scenario_text(const Scenario&);

}  // namespace trainyard
