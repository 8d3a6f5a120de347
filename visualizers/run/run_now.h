// How far a run has come in the step that is under way, over the picture of the run: a line through
// all ranks with a tag on the ruler; and where the step was predicted to end.
#pragma once

#include "visualizers/chart/time_plot.h"
#include "visualizers/run/run_model.h"

namespace trainyard {

/// The end of what is drawn: of the prediction or of what was measured, whichever is later. The
/// model must have its prediction.
Instant run_end(const RunModel&);

/// Items: Cursor, tag 0 the line of now, 1 that of the predicted end.
void draw_run_lines(Drawing&, const Rect& area, const Viewport&, const RunModel&);
/// The ruler with the tag of now.
void draw_run_ruler(Drawing&, const Rect& ruler, const Viewport&, const RunModel&, ViewState,
                    Instant end);
/// Of either line's item.
Hover describe_run_line(const RunModel&, Item, Instant end);

}  // namespace trainyard
