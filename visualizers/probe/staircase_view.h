// The staircase of a probe: what each width took as a disc with its interval, over the roofline and
// the prices of a calibration. Dear widths are ringed, and paddings that cost nothing are bars at
// the foot.
#pragma once

#include "core/cost/width_probe.h"
#include "visualizers/chart/table.h"
#include "visualizers/drawing/view_state.h"

namespace trainyard {

/// Items: Dot, tag the index of the width. A selected width has a ring.
void draw_staircase(Drawing&, const Rect& area, const WidthProbe&, const ViewState&);
Hover describe_staircase(const WidthProbe&, Item);
/// A row per width.
DataTable staircase_table(const WidthProbe&);
/// The chart with its sentences, as for a file.
Drawing staircase_picture(const WidthProbe&);

}  // namespace trainyard
