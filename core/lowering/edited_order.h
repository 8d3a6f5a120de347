// A plan may carry an order of its own in place of its schedule's. Here it is held against all
// else that the plan says.
#pragma once

#include "core/plan/plan.h"
#include "core/program/order.h"

namespace trainyard {

/// What is wrong with the plan's own order, if it has one: that it does not fit the stages and
/// microbatches of the plan any more, runs a stage where it is not, reads weights before they are
/// written. The scenario's plan is complete. One error says it, with its way back.
Diagnostics check_edited_order(const Scenario&);

}  // namespace trainyard
