// What the two hand-made zero bubble schedules share.
#pragma once

#include "core/program/order.h"

namespace trainyard {

/// 1F1B with its backward in two: `lead` times 1F1B's warm-up, and the weight gradient of a
/// microbatch `lead` * s backwards after its input gradient on stage s, so that weight gradients
/// fill what would be the bubble of the drain. One stage a device.
Order zero_bubble_order(const ScheduleShape&, int lead);

}  // namespace trainyard
