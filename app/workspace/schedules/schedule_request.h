// A ScheduleRequest names a schedule and its inputs: devices, microbatches and the times of passes.
#pragma once

#include <string>

#include "core/base/units.h"
#include "core/plan/params.h"

namespace trainyard {

/// The verb `schedule` fills it in. Times are those of one microbatch on one whole device; with
/// virtual stages they cover all chunks of that device.
struct ScheduleRequest {
  std::string name = "1f1b";
  int devices = 4, microbatches = 8;
  int virtual_stages = 0;  // 0 = as few as the schedule allows
  int steps = 0;           // of an asynchronous schedule; 0 = those it needs to settle + 1
  Params params = {};      // the schedule's own; missing ones have their defaults
  Duration forward = std::chrono::milliseconds(1);
  Duration backward_input = std::chrono::milliseconds(1);
  Duration backward_weight = std::chrono::milliseconds(1);
  // The share of a device that a pass occupies if lanes share the device, in (0, 1].
  double forward_fill = 1, backward_fill = 1;
};

}  // namespace trainyard
