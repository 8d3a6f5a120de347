// What a device draws by what it does, and the energy of a step that follows from it: idle power
// while nothing runs, board power while products run as fast as they can, and between the two by
// the work. The one definition of energy: results, reports and views read it.
#pragma once

#include <optional>

#include "core/base/banded.h"
#include "core/base/units.h"
#include "core/cluster/device.h"
#include "core/timeline/metrics.h"

namespace trainyard {

/// Seconds of devices by what they do, summed over devices.
struct DeviceTime {
  double computing = 0;      // forward, backward and recomputation
  double streaming = 0;      // the optimizer, whose kernels only move bytes
  double communicating = 0;  // exposed communication
  double idle = 0;           // bubbles, and waits for the host or the allocator
  double total() const { return computing + streaming + communicating + idle; }
  DeviceTime& operator+=(const DeviceTime& more);
  friend DeviceTime operator*(const DeviceTime& time, double count);
};
DeviceTime device_time(const Breakdown&);

/// Power of one device in each of these states. In each of low, value and high: idle <=
/// communicating <= streaming <= computing <= board limit.
struct PowerDraw {
  Banded<Watts> computing, streaming, communicating, idle;
};
/// `load`: share of the rate that the device sustains in products which it reaches while it
/// computes, [0, 1]. At 0 its kernels only move bytes, at 1 it draws its board limit. Nothing where
/// no board limit is stated.
std::optional<PowerDraw> power_draw(const Device&, double load);
/// `hardware`: FLOPs of all devices in that time.
double product_load(const DeviceTime&, Flops hardware, const Device&, DType math);

/// The one way from time to energy.
Banded<Joules> energy_of(const PowerDraw&, const DeviceTime&);

}  // namespace trainyard
