// What a device sends over its links in a part of the run.
#pragma once

#include "visualizers/drawing/view_state.h"
#include "visualizers/time/timeline_model.h"

namespace trainyard {

/// Of every send and collective of the device the bytes, in proportion to the part of it that lies
/// in the range; of one that takes no time all, where it lies within. Linear in those of the range.
Bytes sent_within(const TimelineModel&, DeviceId, TimeRange);

}  // namespace trainyard
