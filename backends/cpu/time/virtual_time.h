// Virtual time: a clock for each device, by which its kernels advance.
#pragma once

#include <functional>
#include <memory>

#include "backends/cpu/execution/execution.h"

namespace trainyard {

/// Kernels really run, one after another on this thread; each device's clock advances by the thread
/// CPU time that its kernels took, and transfers and collectives take what `prices` says. Devices
/// are thus measured as if each had a core of its own. Lanes that share a device share its core.
/// cpu_time: how much CPU time this thread has had, as begin() is charged for. One driver serves
/// one execution; `prices` must outlive it. Stops between two instructions when asked.
std::unique_ptr<Driver> virtual_time_driver(const TaskPrices& prices,
                                            std::function<Duration()> cpu_time);

}  // namespace trainyard
