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

/// Two lanes of one instruction each, of which each waits for the other.
inline Program circle_of_waits() {
  Draft draft;
  Task task;
  task.stage = {0};
  task.name = draft.name("work");
  const TaskId id = draft.task(task);
  const std::uint32_t a = draft.stream({0}, "a", true), b = draft.stream({0}, "b", true);
  const Ref first = draft.add(a, id, 0, {}), second = draft.add(b, id, 1, {});
  draft.wait(first, second);
  draft.wait(second, first);
  return draft.finish();
}
inline constexpr const char* kCircleSaid =
    "no instruction can start and some are left; waiting:\n  d0/a at stage 0 F0\n  d0/b at stage 0 "
    "F1";

}  // namespace trainyard::testing
