// Questions to a timeline: how long, how busy, how much memory and when, and where the time of a
// step went.
#pragma once

#include <vector>

#include "core/timeline/breakdown.h"
#include "core/timeline/timeline.h"

namespace trainyard {

/// End of the last span; 0 for an empty timeline.
Duration makespan(const Timeline&);
/// Time in which the device's compute streams work; overlapping lanes count once.
Duration busy(const Timeline&, const Program&, DeviceId);
/// The device's memory over the run, from the program's buffers and the spans. Allocations at one
/// instant come after releases at it.
MemoryWave memory_wave(const Timeline&, const Program&, DeviceId);

/// A buffer alive at an instant, and how many instances (microbatches) of it.
struct Alive {
  BufferId buffer;
  int instances = 0;
  Bytes bytes{};  // of all instances
};
/// Largest first; ties by buffer.
std::vector<Alive> alive_at(const Timeline&, const Program&, DeviceId, Instant);
/// Instances of the stage's activations alive at its peak: live microbatches.
int live_microbatches(const Timeline&, const Program&, StageId);

/// What results speak of. The whole run where the program is one step; of a program of several, the
/// step in the middle, from the end of the updates before it to the end of its own: the pace of an
/// asynchronous schedule, after its pipeline has filled and before it drains.
struct StepWindow {
  Instant from{}, to{};
  Duration length() const { return to - from; }
  friend bool operator==(const StepWindow&, const StepWindow&) = default;
};
StepWindow step_window(const Timeline&, const Program&);

/// recompute_share: of each task's compute time, by task id (what the backend priced as done
/// again); may be empty.
Breakdown breakdown(const Timeline&, const Program&, DeviceId,
                    const std::vector<double>& recompute_share = {});
/// The same of every device, in order.
std::vector<Breakdown> breakdowns(const Timeline&, const Program&,
                                  const std::vector<double>& recompute_share = {});
/// The device with the least bubble: the one that sets the pace. Ties go to the first. Not empty.
DeviceId critical_device(const std::vector<Breakdown>&);
/// The time of all devices together, by cause: device time. A share of it is the mean over devices.
Breakdown total(const std::vector<Breakdown>&);
/// The share that a part has of the whole breakdown, [0, 1]; 0 where the whole is empty.
double share(const Breakdown&, Duration part);
/// The bubble's share of device time: idle that is not exposed communication, over span, mean over
/// devices. Whatever says "bubble" without naming a device means this figure.
double bubble_fraction(const Breakdown& device_time);
/// The share of device time in which communication runs and the device does not compute.
double exposed_communication_fraction(const Breakdown& device_time);
inline double bubble_fraction(const std::vector<Breakdown>& all) {
  return bubble_fraction(total(all));
}
inline double exposed_communication_fraction(const std::vector<Breakdown>& all) {
  return exposed_communication_fraction(total(all));
}

// For who asks only one of these: each breaks every device down once more.
inline DeviceId critical_device(const Timeline& t, const Program& p) {
  return critical_device(breakdowns(t, p));
}
inline double bubble_fraction(const Timeline& t, const Program& p) {
  return bubble_fraction(breakdowns(t, p));
}
inline double exposed_communication_fraction(const Timeline& t, const Program& p) {
  return exposed_communication_fraction(breakdowns(t, p));
}

}  // namespace trainyard
