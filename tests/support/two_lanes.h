// Makes the smallest program in which lanes share a device.
#pragma once

#include <string>

#include "core/lowering/draft.h"

namespace trainyard::testing {

// One device with two lanes of `each` computations; lane 1 begins later.
inline Program two_lanes(int each, Duration delay) {
  Draft draft;
  for (int lane = 0; lane < 2; ++lane) {
    const std::uint32_t stream =
        draft.stream({0}, "wave " + std::to_string(lane), true, lane * delay);
    Task task;
    task.stage = {0};
    task.name = draft.name("work");
    const TaskId id = draft.task(task);
    for (int i = 0; i < each; ++i) draft.add(stream, id, i, {});
  }
  return draft.finish();
}

}  // namespace trainyard::testing
