// The schedules of the catalogue that could run a ScheduleProblem, each timed.
#pragma once

#include <string>
#include <vector>

#include "core/program/order.h"
#include "planners/schedules/schedule_problem.h"
#include "planners/schedules/time_order.h"

namespace trainyard {

/// A schedule of the catalogue as it stands, whether or not it keeps the limits.
struct NamedSchedule {
  std::string name;
  Order order;
  OrderTiming timing;
};
/// Every one that is legal for these counts and this placement, synchronous and one lane a device;
/// without split backwards only those that have none. Throws Error{InvalidInput} as solve() does.
std::vector<NamedSchedule> named_schedules(const ScheduleProblem&);

}  // namespace trainyard
