// The bar over a part of a picture says what the part is, and has one sentence or a legend about
// it.
#pragma once

#include <string>

#include "visualizers/drawing/drawing.h"

namespace trainyard {

/// Draws the bar with its title at the left; pointing at it finds the item. Returns where a
/// sentence or a legend begins, which is after the gutter, or after the title where that is longer.
float draw_section_bar(Drawing&, const Rect& bar, const std::string& title, Item = {});
/// Writes a sentence between two places of the bar. It is cut where it is longer.
void write_in_section_bar(Drawing&, const Rect& bar, float left, float right,
                          const std::string& words, Ink = Ink::Text2);
/// Writes words that end where the plot below the bar ends. Returns where they begin, with a gap
/// before them.
float end_section_bar(Drawing&, const Rect& bar, const std::string& words, Ink = Ink::Text2);

}  // namespace trainyard
