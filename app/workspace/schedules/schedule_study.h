// A ScheduleStudy examines a schedule by itself: an order with given times for forward and
// backward, run on lanes alone. It shows what the schedule costs before any model or cluster is
// chosen.
#pragma once

#include <string>
#include <vector>

#include "app/workspace/schedules/schedule_request.h"
#include "core/methods/method.h"
#include "core/program/facts.h"
#include "core/program/order.h"
#include "core/timeline/timeline.h"

namespace trainyard {

/// One device in the step that is measured.
struct DeviceStudy {
  // Seconds from its own first start to its last end; for an asynchronous schedule, from update to
  // update.
  double span = 0;
  double bubble_fraction = 0;  // share of the span in which it is idle
  double live = 0;             // most microbatches; a chunk counts as its share of the device
};

/// All times except spans are in seconds of the measured step. A synchronous schedule has one step;
/// of an asynchronous schedule the middle step is measured, from the end of the one before, because
/// the pipeline is full before and after it.
struct ScheduleStudy {
  ScheduleRequest request;  // with all defaults filled in
  const Method* method = nullptr;
  Order order;
  bool asynchronous = false;
  int step = 0;  // index of the measured step, from 0
  // By lane and action, in chunk time: virtual_stages times as long as real time, so that a chunk's
  // share of a device's time is whole nanoseconds.
  std::vector<std::vector<Span>> spans;
  double makespan = 0, ideal = 0;  // ideal: if no device were ever idle
  double bubble_fraction = 0;      // idle time over span, all devices
  // For waves: samples per second relative to a single wave that has the device (or, under model
  // parallelism, all devices in turn) to itself; 0 if the schedule has no waves.
  double over_one_wave = 0;
  std::vector<DeviceStudy> devices;
  std::vector<StageFacts> facts;  // by copy of a stage, derived from the order as a program
};

/// Throws Error{InvalidInput} for an unknown schedule (naming the nearest), and for counts that it
/// cannot arrange.
ScheduleStudy study(const ScheduleRequest&);
/// Studies an order that a user wrote in the file called `name`: it uses the schedule's placement,
/// but not its rules. Throws with everything that check() finds wrong.
ScheduleStudy study(const ScheduleRequest&, Order, const std::string& name = "order");

/// One row per device and lane, with time to the right, as papers print it: "F0 F1 .. B0"; I and W
/// are the parts of a split backward. 'c after a microbatch is its chunk, or its wave if there are
/// several. It is at most about `columns` wide; beyond that the grid stops and says so.
std::string grid(const ScheduleStudy&, std::size_t columns = 160);

}  // namespace trainyard
