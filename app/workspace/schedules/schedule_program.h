// An order as a program of bare computation with given times: dependencies, no messages, no memory.
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

/// One compute stream a lane, one instruction an action, in their order. Times are of one chunk, in
/// chunk time. The order must be one that check() accepts.
ScheduleProgram schedule_program(const Order&, const ScheduleRequest&, Placement);

/// Of one chunk, in chunk time.
Duration time_of(Phase, const ScheduleRequest&);
double fill_of(Phase, const ScheduleRequest&);

}  // namespace trainyard
