// A sweep as a picture of one figure. With one axis of several values it is a bar for each of them,
// with its band. Otherwise it is a heat map over the two longest axes, one below the other for each
// combination of the other axes. What does not fit is hatched, and what has no plan is a cross.
#pragma once

#include "core/estimate/sweep.h"
#include "visualizers/chart/table.h"
#include "visualizers/drawing/view_state.h"

namespace trainyard {

/// The size at which everything has room, within what a file should have.
Size sweep_size(const SweepStudy&);
/// Items: Cell, tag the combination. The best row by the figure is framed, and the selected one.
void draw_sweep(Drawing&, const Rect& area, const SweepStudy&, SweepFigure, const ViewState&);
/// At sweep_size(), as for a file.
Drawing sweep_picture(const SweepStudy&, SweepFigure);
Hover describe_sweep(const SweepStudy&, SweepFigure, Item);
/// A row for each combination that is finished, in order.
DataTable sweep_table(const SweepStudy&);
/// The same rows in the columns that people read: axes with several values, the plan and its
/// figures, and last what limits it or why there is none.
DataTable sweep_summary(const SweepStudy&);

/// The figure as people read it: "4.938 s", "37.7 %"; and its name, "Step time".
std::string sweep_figure_text(SweepFigure, double value);
std::string sweep_figure_name(SweepFigure);

}  // namespace trainyard
