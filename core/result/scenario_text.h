// This file writes the canonical text of a scenario: equal scenarios give equal text on every
// machine, so the digest of the text names a result.
#pragma once

#include <string>

#include "core/plan/plan.h"

namespace trainyard {

/// Returns model, cluster and every setting of the plan, one per line.
std::string scenario_text(const Scenario&);

}  // namespace trainyard
