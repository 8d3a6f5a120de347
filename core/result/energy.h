// This file computes the power of a device by its activity and the energy of a step from it: idle
// power while nothing runs, board power while products run as fast as they can, and values between
// by the kind of work. It is the only definition of energy; results, reports and views use it.
#pragma once

#include <optional>
#include <vector>

#include "core/base/banded.h"
#include "core/base/units.h"
#include "core/cluster/device.h"
#include "core/plan/plan.h"
#include "core/timeline/metrics.h"

namespace trainyard {

/// DeviceTime is seconds of devices by activity, summed over devices.
struct DeviceTime {
  double computing = 0;      // forward, backward and recomputation
  double streaming = 0;      // the optimizer, whose kernels only move bytes
  double communicating = 0;  // exposed communication
  double idle = 0;           // bubbles, and waits for host, allocator or input
  double total() const { return computing + streaming + communicating + idle; }
  DeviceTime& operator+=(const DeviceTime& more);
  friend DeviceTime operator*(const DeviceTime& time, double count);
};
DeviceTime device_time(const Breakdown&);

/// PoweredUse is the time of devices and the FLOPs that they do in it.
struct PoweredUse {
  DeviceTime time;
  Flops hardware{};
};
/// Returns the use of the devices of each kind, of which `ranks` has that of one device of each
/// pipeline rank and `replicas` is how many there are; of a cluster of equal devices one. The mesh
/// must be legal on the cluster.
std::vector<PoweredUse> uses_of_kinds(const Cluster&, const Mesh&,
                                      const std::vector<PoweredUse>& ranks, double replicas);

/// PowerDraw is the power of one device in each of these states. For each of low, value and high:
/// idle <= communicating <= streaming <= computing <= board limit.
struct PowerDraw {
  Banded<Watts> computing, streaming, communicating, idle;
  Watts board{};  // the limit, which is what a device is rated for
};
/// `load` is the rate of products during computation as a share of the rate that the device
/// sustains, in [0, 1]. At 0 its kernels only move bytes, at 1 it draws its board limit. Returns
/// nothing where no board limit is stated.
std::optional<PowerDraw> power_draw(const Device&, double load);
/// `hardware` is the FLOPs of all devices in that time.
double product_load(const DeviceTime&, Flops hardware, const Device&, DType math);

/// Returns the draw of each kind of devices at the load that its products make; nothing where one
/// has no board limit.
std::optional<std::vector<PowerDraw>> power_of_kinds(const Cluster&, const std::vector<PoweredUse>&,
                                                     DType math);
/// Returns the mean over kinds, in each state by the time in it, so that energy_of() all of their
/// time is the sum over the kinds. The order of states that PowerDraw states holds for each kind,
/// and not for their mean.
PowerDraw mean_power(const Cluster&, const std::vector<PowerDraw>&, const std::vector<PoweredUse>&);

/// All code that turns time into energy must use this function.
Banded<Joules> energy_of(const PowerDraw&, const DeviceTime&);

/// EnergyParts is the energy of a step by what its devices do; the parts add up to that of the
/// step.
struct EnergyParts {
  Banded<Joules> computing, streaming, communicating, idle;
  Banded<Joules> working() const;  // all but idle
  Joules at_board{};               // if every device drew its board power for the whole step
};
/// `whole` is the energy of that time, whose range the parts share in proportion.
EnergyParts energy_parts(const PowerDraw&, const DeviceTime&, const Banded<Joules>& whole);

}  // namespace trainyard
