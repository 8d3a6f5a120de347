// This file answers questions about a timeline: how long, how busy, how much memory and when, and
// where the time of a step went.
#pragma once

#include <vector>

#include "core/timeline/breakdown.h"
#include "core/timeline/timeline.h"

namespace trainyard {

/// Returns the end of the last span; 0 for an empty timeline.
Duration makespan(const Timeline&);
/// Returns the time in which the device's compute streams work; overlapping lanes count once.
Duration busy(const Timeline&, const Program&, DeviceId);
/// Returns the device's memory over the run, from the program's buffers and the spans. At one
/// instant releases come before allocations.
MemoryWave memory_wave(const Timeline&, const Program&, DeviceId);

/// Alive is a buffer that is alive at an instant, with the number of its instances (microbatches).
struct Alive {
  BufferId buffer;
  int instances = 0;
  Bytes bytes{};  // of all instances
};
/// Returns the largest first; equal ones are ordered by buffer.
std::vector<Alive> alive_at(const Timeline&, const Program&, DeviceId, Instant);
/// Returns the live microbatches: how many instances of the stage's activations are alive at their
/// peak.
int live_microbatches(const Timeline&, const Program&, StageId);

/// A StepWindow is the time that results describe. It is the whole run where the program is one
/// step. For a program of several steps it is the step in the middle, from the end of the updates
/// before it to the end of its own, which shows an asynchronous schedule after its pipeline has
/// filled and before it drains.
struct StepWindow {
  Instant from{}, to{};
  Duration length() const { return to - from; }
  friend bool operator==(const StepWindow&, const StepWindow&) = default;
};
StepWindow step_window(const Timeline&, const Program&);
/// Returns the time of each step of the program, from the end of the updates before it to the end
/// of its own; the last one has what follows its updates too. Their sum is the makespan.
std::vector<Duration> step_times(const Timeline&, const Program&);

/// recompute_share is the share of each task's compute time, by task id, that the backend priced as
/// repeated; it may be empty.
Breakdown breakdown(const Timeline&, const Program&, DeviceId,
                    const std::vector<double>& recompute_share = {});
/// Returns the breakdown of every device, in order.
std::vector<Breakdown> breakdowns(const Timeline&, const Program&,
                                  const std::vector<double>& recompute_share = {});
/// Returns the device with the least bubble, which limits the step. Of equal ones the first is
/// taken. The list must not be empty.
DeviceId critical_device(const std::vector<Breakdown>&);
/// Returns the device time by cause: the time of all devices together. A share of it is the mean
/// over devices.
Breakdown total(const std::vector<Breakdown>&);
/// Returns the share of a part in the whole breakdown, in [0, 1]; 0 where the whole is empty.
double share(const Breakdown&, Duration part);
/// Returns the bubble's share of device time: idle time that is not exposed communication, over the
/// span, as mean over devices. A "bubble" without a named device always means this figure.
double bubble_fraction(const Breakdown& device_time);
/// Returns the share of device time in which communication runs and the device does not compute.
double exposed_communication_fraction(const Breakdown& device_time);
inline double bubble_fraction(const std::vector<Breakdown>& all) {
  return bubble_fraction(total(all));
}
inline double exposed_communication_fraction(const std::vector<Breakdown>& all) {
  return exposed_communication_fraction(total(all));
}

// These are for callers that need only one of the figures, because each breaks down every device
// again.
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
