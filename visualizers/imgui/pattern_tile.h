// How patterns look as alpha values: one cell that repeats in both directions.
#pragma once

#include "visualizers/drawing/palette.h"

namespace trainyard {

/// Device pixels after which the pattern repeats, across and down. Slanted lines with a pitch of 6
/// meet the axes every 6 x sqrt 2 pixels, rounded so that tiles join.
int pattern_period(Pattern, double scale);
/// Coverage 0..255 of the pixel (x, y) of the cell, 0 <= x, y < period.
unsigned char pattern_coverage(Pattern, double scale, int x, int y);

}  // namespace trainyard
