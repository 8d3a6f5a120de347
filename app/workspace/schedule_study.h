// A schedule on its own: an order of work with given times for forward and backward, run on nothing
// but lanes. It says what the schedule costs before any model or cluster is chosen.
#pragma once

#include <string>
#include <vector>

#include "core/program/order.h"
#include "core/timeline/timeline.h"

namespace trainyard {

/// What `schedule` asks for. Times are of one microbatch on one whole device: with virtual stages,
/// of all its chunks.
struct ScheduleRequest {
  std::string name = "1f1b";
  int devices = 4, microbatches = 8, virtual_stages = 1;
  Duration forward = std::chrono::milliseconds(1);
  Duration backward_input = std::chrono::milliseconds(1);
  Duration backward_weight = std::chrono::milliseconds(1);
};

struct ScheduleStudy {
  ScheduleRequest request;
  Order order;
  std::vector<std::vector<Span>> spans;   // of each lane's actions, in chunk time: virtual_stages
                                          // times as long, so that a chunk's share of a device's
                                          // time is whole nanoseconds
  double makespan = 0, ideal = 0;         // seconds; ideal: no device ever idle
  double bubble_fraction = 0;             // idle over span, all devices
  std::vector<double> live_microbatches;  // peak of each device, a chunk counting as its share of
                                          // the device
};

/// Throws Error{InvalidInput}: unknown schedule (nearest), counts it cannot arrange.
ScheduleStudy study(const ScheduleRequest&);
/// The same of an order that somebody wrote in the file of that name; throws with everything
/// check() finds wrong in it.
ScheduleStudy study(const ScheduleRequest&, Order, const std::string& name = "order");

/// One row a device and lane, time to the right, as papers print it: "F0 F1 .. B0". At most about
/// `columns` wide; beyond that the grid stops and says so.
std::string grid(const ScheduleStudy&, std::size_t columns = 160);

}  // namespace trainyard
