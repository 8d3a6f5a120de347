// What lies over the lanes of a timeline: what a search found, the critical path, the lives of a
// tensor.
#pragma once

#include "visualizers/timeline/timeline_layout.h"

namespace trainyard {

/// As the state asks for. Hits are outlined where they are wide enough to be seen one by one; the
/// path is a line along the feet of its spans that goes from lane to lane; lives are bars beneath
/// their device's lanes.
void draw_overlays(Drawing&, const TimelineLayout&, const TimelineModel&, const ViewState&);

}  // namespace trainyard
