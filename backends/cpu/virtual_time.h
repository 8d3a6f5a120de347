// Virtual time with a clock that can be handed in: see virtual_time_driver() in execution.h.
#pragma once

#include <functional>
#include <memory>

#include "backends/cpu/execution.h"

namespace trainyard {

/// cpu_time: how much CPU time this thread has had, as begin() is charged for. One driver serves
/// one execution; `prices` must outlive it. Stops between two instructions when asked.
std::unique_ptr<Driver> virtual_time_driver(const TaskPrices& prices,
                                            std::function<Duration()> cpu_time);

}  // namespace trainyard
