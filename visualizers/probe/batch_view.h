// Rates over the batch, a chart for each curve of a study: what the roofline allows, from the slope
// of the bandwidth to the ceiling of the arithmetic, what was attained where it was measured, and
// the knee of each.
#pragma once

#include "core/estimate/batch_study.h"
#include "visualizers/chart/table.h"

namespace trainyard {

/// The charts with their sentences, as for a file.
Drawing batch_picture(const BatchStudy&);
/// A row per curve and batch.
DataTable batch_table(const BatchStudy&);

}  // namespace trainyard
