// When an order's actions run and what they hold. Unlike the solver's clock it takes any order that
// check() accepts: several lanes a device, delays, precedences, microbatches in any sequence.
#pragma once

#include <vector>

#include "core/base/units.h"
#include "core/program/order.h"
#include "planners/schedules/schedule_problem.h"

namespace trainyard {

/// An order under a problem's costs; nothing contends, and a pass starts as soon as its device, its
/// input and its memory's predecessor in the lane allow.
struct OrderTiming {
  Duration makespan{};          // from the first start to the last end
  Duration longest_span{};      // of any one device, from its own first start to its last end
  std::vector<Duration> spans;  // of each device, so measured
  std::vector<Bytes> peaks;     // of each device
  std::vector<std::vector<Duration>> starts;  // of each lane's actions
};
/// The order must be one that check() accepts.
OrderTiming time_order(const Order&, const ScheduleProblem&);

}  // namespace trainyard
