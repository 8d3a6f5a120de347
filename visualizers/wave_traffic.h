// What a device sends over its links in a part of the run.
#pragma once

#include "visualizers/timeline_model.h"
#include "visualizers/view_state.h"

namespace trainyard {

/// Of every send and collective of the device the bytes, in proportion to the part of it that lies
/// in the range; of one that takes no time all, where it lies within. Linear in those of the range.
Bytes sent_within(const TimelineModel&, DeviceId, TimeRange);

}  // namespace trainyard
