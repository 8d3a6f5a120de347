// A tuning as a picture: every trial by its figure and by what had been spent when it was done, and
// a line for the best so far. It falls fast where the search spends well.
#pragma once

#include "core/result/tune_report.h"
#include "visualizers/chart/table.h"
#include "visualizers/drawing/view_state.h"

namespace trainyard {

/// px of the picture in a file.
inline constexpr Size kTuningSize{900, 420};

/// The item of a trial: kind Dot, tag its index.
inline Item tuning_item(std::size_t trial) { return {ItemKind::Dot, trial}; }

/// Trials without a figure are crosses below the others. Without a trial there is only the bar.
void draw_tuning(Drawing&, const Rect& area, const TuneReport&, const ViewState&);
Hover describe_tuning(const TuneReport&, Item);
/// All trials in their order: family (where there are several), varied settings, figure, costs.
DataTable tuning_table(const TuneReport&);

}  // namespace trainyard
