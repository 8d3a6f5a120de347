// This file follows an order without a program: every action starts when its lane is free and its
// input and weights are there.
#pragma once

#include "core/methods/method.h"

namespace trainyard {

/// Returns one step of a synchronous order, or the steady time per step of an asynchronous one, in
/// time linear in the number of actions. Waves on one device slow each other down according to
/// their occupancy. Without `holdings`, live and older_versions stay empty, for callers that get
/// them elsewhere.
PipelineEstimate follow(const Order&, const ScheduleShape&, const PipelineTimes&,
                        bool holdings = true);

}  // namespace trainyard
