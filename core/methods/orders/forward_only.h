// The first stages of a pipeline may have frozen layers alone. No gradient is needed there: they
// run forwards, and nothing is sent back to them.
#pragma once

#include "core/methods/method.h"

namespace trainyard {

/// Returns the order in which the first `stages` stages have no backward. A stage still runs ahead
/// of the others no further than its schedule lets it: what stood after a backward that is gone
/// waits for the backward of the same microbatch on the first stage that has one.
Order without_backward(Order, int stages);

/// Returns the order of the schedule, whose first ScheduleShape::forward_only stages have no
/// backward.
Order order_of(const Method&, const Params&, const ScheduleShape&);

}  // namespace trainyard
