// Converts sensitivity strips to the model of their view.
#pragma once

#include "planners/sensitivity/sensitivity.h"
#include "visualizers/plans/knobs_view.h"

namespace trainyard {

/// Rows are ordered by gain, largest first.
KnobsModel knobs_model(const Sensitivity&);

}  // namespace trainyard
