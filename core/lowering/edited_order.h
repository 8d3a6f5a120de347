// A plan may have an order of its own in place of its schedule's. This file checks it against the
// rest of the plan.
#pragma once

#include "core/plan/plan.h"
#include "core/program/order.h"

namespace trainyard {

/// The errors of the plan's own order, if it has one: it no longer fits the plan's stages and
/// microbatches, runs a stage on a device that does not hold it, or reads weights before they are
/// written. The scenario's plan must be complete. There is at most one error, which says how to
/// correct it.
Diagnostics check_edited_order(const Scenario&);

}  // namespace trainyard
