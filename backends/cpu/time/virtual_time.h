// Virtual time is a clock for each device that advances by the time of its kernels. It is a second
// clock beside the simulator's because a kernel has no time before it has run, and because replicas
// and tensor-parallel peers run one by one here where the simulator has one of them for all. Where
// kernels take their prices both agree to the nanosecond (tests/backends/virtual_time_test.cpp).
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
