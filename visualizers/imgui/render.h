// Drawing to pixels in one call, in software: what files and the command line use.
#pragma once

#include "visualizers/drawing/drawing.h"
#include "visualizers/drawing/image.h"
#include "visualizers/imgui/fonts.h"

namespace trainyard {

/// The same bytes on every machine for the same fonts. scale: device pixels a logical pixel, in (0,
/// 16].
Image render(const Drawing&, double scale, Theme, const FontFiles& = font_files());

}  // namespace trainyard
