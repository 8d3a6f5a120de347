// Computes when an order's actions run and what they hold, by the recurrence of
// core/methods/orders. It takes any order that check() accepts: several lanes per device, delays,
// precedences, microbatches in any sequence.
#pragma once

#include <vector>

#include "core/base/units.h"
#include "core/program/order.h"
#include "planners/schedules/schedule_problem.h"

namespace trainyard {

/// The timing of an order under a problem's costs. There is no contention: a pass starts as soon as
/// its device and its input are available and its predecessors in memory and in the lane allow it.
struct OrderTiming {
  Duration makespan{};          // from the first start to the last end
  Duration longest_span{};      // of any one device, from its own first start to its last end
  std::vector<Duration> spans;  // of each device, from its first start to its last end
  std::vector<Bytes> peaks;     // of each device
  std::vector<std::vector<Duration>> starts;  // of the actions of each lane
};
/// The order must be one that check() accepts.
OrderTiming time_order(const Order&, const ScheduleProblem&);

}  // namespace trainyard
