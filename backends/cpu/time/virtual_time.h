// Virtual time is a clock for each device that advances by the time of its kernels.
#pragma once

#include <functional>
#include <memory>

#include "backends/cpu/execution/execution.h"

namespace trainyard {

/// Kernels really run, one after another on this thread. Each device's clock advances by the
/// thread's CPU time for its kernels; transfers and collectives take what `prices` says. Devices
/// are thus measured as if each had a core of its own; lanes that share a device share its core.
/// `cpu_time` returns the CPU time of this thread. One driver serves one execution; `prices` must
/// outlive it. When asked to stop, it stops between two instructions.
std::unique_ptr<Driver> virtual_time_driver(const TaskPrices& prices,
                                            std::function<Duration()> cpu_time);

}  // namespace trainyard
