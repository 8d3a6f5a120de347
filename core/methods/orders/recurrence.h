// Follows an order without a program: every action starts when its lane, its input and its weights
// are there.
#pragma once

#include "core/methods/method.h"

namespace trainyard {

/// One step of a synchronous order, or the steady pace of an asynchronous one. Linear in the
/// actions. Waves of one device slow each other down as their occupancy says.
/// Without `holdings`, live and older_versions stay empty, for who knows them otherwise.
PipelineEstimate follow(const Order&, const ScheduleShape&, const PipelineTimes&,
                        bool holdings = true);

}  // namespace trainyard
