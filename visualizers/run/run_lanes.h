// The two lanes of a pipeline rank in the picture of a run: what was predicted as a ghost, and
// below it what was measured.
#pragma once

#include "visualizers/chart/time_plot.h"
#include "visualizers/run/run_causes.h"
#include "visualizers/run/run_model.h"

namespace trainyard {

inline constexpr float kGhostLane = 7, kMeasuredLane = 15, kTransfers = 4;  // px
inline constexpr float kRunLanes = kGhostLane + kMeasuredLane + kTransfers;

/// From the top of `rank` on. Items: Span, tag the instruction.
void draw_run_lanes(Drawing&, const Rect& rank, const Viewport&, const RunModel&, DeviceId);
/// A ring around what is furthest from its prediction, and a warning on its ghost where that is
/// further than a step may be (kStepLimit).
void draw_deviation(Drawing&, const Rect& rank, const Viewport&, const RunDeviation&);

}  // namespace trainyard
