// What a selected span shows beyond its box: a ring, and the lines from what it waited for and to
// what waited for it.
#pragma once

#include "visualizers/timeline/timeline_layout.h"

namespace trainyard {

/// Nothing when the item is no span of the model. Causes and effects are compute instructions of
/// other ranks, through what was sent in between.
void draw_selection(Drawing&, const TimelineLayout&, const TimelineModel&, Item selected);

}  // namespace trainyard
