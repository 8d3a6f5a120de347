// A Drawing as an SVG file: for reports, papers and golden tests.
#pragma once

#include <string>
#include <string_view>

#include "visualizers/drawing/drawing.h"

namespace trainyard {

/// The same bytes for the same drawing. Text stays text (Inter, else DejaVu Sans); patterns are
/// <pattern> elements. ids: what the ids of patterns and clips begin with, which must differ
/// between the pictures of one page.
std::string to_svg(const Drawing&, Theme, std::string_view ids = "");

/// The text with the characters that markup gives a meaning, and without control characters.
std::string markup_text(std::string_view);

}  // namespace trainyard
