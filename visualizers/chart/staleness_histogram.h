// A histogram of staleness: a bar for each range of it, and a mark where its mean is expected.
#pragma once

#include <cstdint>
#include <string>

#include "core/estimate/staleness_bars.h"
#include "visualizers/drawing/drawing.h"

namespace trainyard {

/// Draws into all of the area, with a title above. Items: Dot, tagged by the bar. Draws the title
/// alone where there are no bars.
void draw_staleness(Drawing&, const Rect& area, const std::string& title, const StalenessBars&,
                    std::int64_t expected);

/// Returns what one bar says: "24 to 31: 12.5 % of updates".
std::string bar_words(const StaleBar&);

}  // namespace trainyard
