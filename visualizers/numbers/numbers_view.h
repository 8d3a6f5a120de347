// Draws how the numbers of a run lie in the formats of its plan: for each class of them a histogram of
// exponents with the window of the format behind it, as Micikevicius et al., "Mixed Precision
// Training", ICLR 2018, draw gradients over the range of half precision; and by step the share of
// updates that rounding cancels, and the loss scale.
#pragma once

#include "core/training/numbers/number_record.h"
#include "visualizers/chart/table.h"
#include "visualizers/drawing/drawing.h"

namespace trainyard {

/// Draws one class of the last look that no overflow skipped. Bars are shares of its elements on a
/// logarithmic axis; zeros have the first bar. Draws nothing of a class without elements.
void draw_exponents(Drawing&, const Rect& area, const NumberRecord&, NumberClass);
/// All classes that the run has, and below them the two series, each from two steps on.
Drawing numbers_picture(const NumberRecord&);
/// A row for each exponent of each class.
DataTable numbers_table(const NumberRecord&);

}  // namespace trainyard
