// A schedule on its own: an order of work with given times for forward and backward, run on nothing
// but lanes. It says what the schedule costs before any model or cluster is chosen.
#pragma once

#include <string>
#include <vector>

#include "app/workspace/schedules/schedule_request.h"
#include "core/methods/method.h"
#include "core/program/facts.h"
#include "core/program/order.h"
#include "core/timeline/timeline.h"

namespace trainyard {

/// One device in the steady step.
struct DeviceStudy {
  double span = 0;             // seconds: from its own first pass to its own last end; of an
                               // asynchronous schedule from update to update
  double bubble_fraction = 0;  // idle within that
  double live = 0;             // most microbatches, a chunk counting as its share of the device
};

/// All times but spans are seconds of the step: of a synchronous schedule all there is; of an
/// asynchronous one the step in the middle, from the end of the one before: the pipeline is full
/// before it and after it.
struct ScheduleStudy {
  ScheduleRequest request;  // with nothing left to defaults
  const Method* method = nullptr;
  Order order;
  bool asynchronous = false;
  int step = 0;                          // that is measured, counting from 0
  std::vector<std::vector<Span>> spans;  // of each lane's actions, in chunk time: virtual_stages
                                         // times as long, so that a chunk's share of a device's
                                         // time is whole nanoseconds
  double makespan = 0, ideal = 0;        // ideal: no device ever idle
  double bubble_fraction = 0;            // idle over span, all devices
  double over_one_wave = 0;  // of waves: samples a second over those of one wave alone, which has
                             // the device (or, of model parallelism, all devices in turn) to
                             // itself; 0 where the schedule has no waves
  std::vector<DeviceStudy> devices;
  std::vector<StageFacts> facts;  // by copy of a stage, read off the order as a program
};

/// Throws Error{InvalidInput}: unknown schedule (nearest), counts it cannot arrange.
ScheduleStudy study(const ScheduleRequest&);
/// The same of an order that somebody wrote in the file of that name: on the schedule's placement,
/// but not by its rules. Throws with everything check() finds wrong in it.
ScheduleStudy study(const ScheduleRequest&, Order, const std::string& name = "order");

/// One row a device and lane, time to the right, as papers print it: "F0 F1 .. B0", I and W the
/// parts of a split backward; 'c behind a microbatch is its chunk, or its wave where there are
/// several. At most about `columns` wide; beyond that the grid stops and says so.
std::string grid(const ScheduleStudy&, std::size_t columns = 160);

}  // namespace trainyard
