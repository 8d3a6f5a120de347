// This file has what the two hand-made zero bubble schedules share.
#pragma once

#include "core/program/order.h"

namespace trainyard {

/// Returns 1F1B with its backward split in two and `lead` times 1F1B's warm-up. On stage s the
/// weight gradient of a microbatch comes `lead` * s backwards after its input gradient, so that
/// weight gradients fill what would be the bubble of the drain. There is one stage per device.
Order zero_bubble_order(const ScheduleShape&, int lead);

}  // namespace trainyard
