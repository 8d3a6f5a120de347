// A plan may carry an order of its own in place of its schedule's. Here it is held against all
// else that the plan says.
#pragma once

#include "core/plan/plan.h"
#include "core/program/order.h"

namespace trainyard {

/// The shape that an order of the plan must have: its schedule's, with as many steps as that takes
/// to settle and one more. The scenario's plan is complete.
ScheduleShape edited_shape(const Scenario&);

/// What is wrong with the plan's own order, if it has one: that it does not fit the stages and
/// microbatches of the plan any more, runs a stage where it is not, reads weights before they are
/// written. The scenario's plan is complete. One error says it, with its way back.
Diagnostics check_edited_order(const Scenario&);

}  // namespace trainyard
