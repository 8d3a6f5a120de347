// The losses of a run so far, by update.
#pragma once

#include "visualizers/drawing/drawing.h"
#include "visualizers/run/run_model.h"

namespace trainyard {

/// Items: Dot, tag the newest update.
void draw_run_loss(Drawing&, const Rect& area, const RunModel&);

}  // namespace trainyard
