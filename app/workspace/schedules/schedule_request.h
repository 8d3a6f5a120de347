// A ScheduleRequest names a schedule and says what it is to arrange: devices, microbatches and the
// times of passes.
#pragma once

#include <string>

#include "core/base/units.h"
#include "core/plan/params.h"

namespace trainyard {

/// The verb `schedule` fills this in. Times are those of one microbatch on one whole device; with
/// virtual stages they cover all chunks of that device.
struct ScheduleRequest {
  std::string name = "1f1b";
  int devices = 4, microbatches = 8;
  int virtual_stages = 0;  // 0 = as few as the schedule takes
  int steps = 0;       // of an asynchronous schedule; 0 = as many as it takes to settle, and one
  Params params = {};  // the schedule's own; what is missing has its default
  Duration forward = std::chrono::milliseconds(1);
  Duration backward_input = std::chrono::milliseconds(1);
  Duration backward_weight = std::chrono::milliseconds(1);
  // Share of a device that a pass occupies where lanes share one, (0, 1].
  double forward_fill = 1, backward_fill = 1;
};

}  // namespace trainyard
