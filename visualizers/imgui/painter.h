// Turns the marks of a Drawing into a draw list of Dear ImGui, in device pixels. Upright edges are
// snapped to whole pixels, so that both renderers give the same picture and boxes are sharp at
// every scale.
#pragma once

#include <imgui.h>

#include "visualizers/drawing/drawing.h"
#include "visualizers/imgui/font_atlas.h"

namespace trainyard {

/// Marks [first, last). Several threads may paint parts of one drawing, each on a list of its own.
void paint_marks(const Drawing&, std::size_t first, std::size_t last, double scale, Theme,
                 FontAtlas&, ImDrawList&);

}  // namespace trainyard
