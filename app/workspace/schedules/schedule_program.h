// Converts an order to a program of pure computation with given times: it has dependencies, but no
// messages and no memory.
#pragma once

#include "app/workspace/schedules/schedule_request.h"
#include "core/program/order.h"
#include "core/program/program.h"
#include "core/result/experiment.h"

namespace trainyard {

struct ScheduleProgram {
  Program program;
  TaskPrices prices;
};

/// Makes one compute stream per lane and one instruction per action, in their order. Times are
/// those of one chunk, in chunk time. The order must be one that check() accepts.
ScheduleProgram schedule_program(const Order&, const ScheduleRequest&, Placement);

/// The time of a pass of one chunk, in chunk time; fill_of() is the share of the device that it
/// occupies.
Duration time_of(Phase, const ScheduleRequest&);
double fill_of(Phase, const ScheduleRequest&);

}  // namespace trainyard
