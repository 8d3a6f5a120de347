// A panel of a lesson is a title over a chart. All its text is `large` times its usual size, so
// that it can be read from afar.
#pragma once

#include <string>

#include "visualizers/drawing/drawing.h"

namespace trainyard {

inline constexpr float kPanelPad = 14, kPanelHead = 30;  // px beside the chart and above it

/// The title takes at most `share` of the width. Returns where it ends.
float draw_panel_title(Drawing&, const Rect& area, const std::string& title, float large,
                       float share = 1);
/// A number with its unit as every panel writes it, as in "16.6 GB".
std::string panel_number(double value, const std::string& unit);

}  // namespace trainyard
