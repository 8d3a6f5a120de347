// A Drawing as an SVG file: for reports, papers and golden tests.
#pragma once

#include <string>

#include "visualizers/drawing/drawing.h"

namespace trainyard {

/// The same bytes for the same drawing. Text stays text (Inter, else DejaVu Sans); patterns are
/// <pattern> elements.
std::string to_svg(const Drawing&, Theme);

}  // namespace trainyard
