// Lists the catalogue's schedules that could run a ScheduleProblem, each with its timing.
#pragma once

#include <string>
#include <vector>

#include "core/program/order.h"
#include "planners/schedules/schedule_problem.h"
#include "planners/schedules/time_order.h"

namespace trainyard {

/// A schedule of the catalogue, unchanged, whether or not it keeps the memory limits.
struct NamedSchedule {
  std::string name;
  Order order;
  OrderTiming timing;
};
/// Every schedule that is synchronous, has one lane per device and is legal for these counts and
/// this placement; if backwards are not split, only schedules that do not split them. Throws
/// Error{InvalidInput} as solve() does.
std::vector<NamedSchedule> named_schedules(const ScheduleProblem&);

}  // namespace trainyard
