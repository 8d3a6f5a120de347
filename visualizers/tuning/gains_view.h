// Draws how many jobs pay to be trained together, as a curve: the predicted gain over their number,
// and the measured gain of the largest run.
#pragma once

#include "core/result/tune_report.h"
#include "visualizers/drawing/drawing.h"

namespace trainyard {

/// Returns whether there is a curve to draw: at least two numbers of jobs were priced.
bool has_gains(const TuneReport&);
/// Draws nothing where there is no curve.
void draw_gains(Drawing&, const Rect& area, const TuneReport&);

}  // namespace trainyard
