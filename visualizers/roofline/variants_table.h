// A variants table lists the ways in which kernels of this machine can be computed, as they were
// timed, and which of them is chosen.
#pragma once

#include "core/cost/calibrated.h"
#include "visualizers/chart/table.h"

namespace trainyard {

/// One row a shape, in the order of the calibration. "unseen" is the way that was chosen by trees
/// which had not seen the shape.
DataTable variants_table(const Calibration&);

}  // namespace trainyard
