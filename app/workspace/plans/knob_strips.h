// Sensitivity strips as the view draws them.
#pragma once

#include "planners/sensitivity/sensitivity.h"
#include "visualizers/plans/knobs_view.h"

namespace trainyard {

/// Rows by what they gain, most first.
KnobsModel knobs_model(const Sensitivity&);

}  // namespace trainyard
