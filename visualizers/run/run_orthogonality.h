// Draws the orthogonality of the updates that replicas combined by Adasum, by layer over the steps:
// 1 where they added to each other, 1 over their number where they were equal.
#pragma once

#include <string>

#include "visualizers/drawing/drawing.h"
#include "visualizers/run/run_model.h"

namespace trainyard {

/// Says whether there is anything to draw.
bool has_orthogonality(const RunModel&);
/// A line a layer, and over them the mean of the layers.
void draw_run_orthogonality(Drawing&, const Rect& area, const RunModel&);
/// headroom_sentence() of the last steps; "" where nothing was combined.
std::string headroom_words(const RunModel&);

}  // namespace trainyard
