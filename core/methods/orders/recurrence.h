// This file follows an order without a program: every action starts when its lane is free and its
// input and weights are there. The simulator's clock (backends/simulator) is another because it
// also shares devices and links between whatever runs at an instant, which takes a program and its
// events; planners follow 10^5 orders in a second. Both agree where nothing is shared
// (tests/backends/clocks_test.cpp).
#pragma once

#include "core/methods/method.h"

namespace trainyard {

using LaneStarts = std::vector<std::vector<Duration>>;  // of the actions of each lane

struct FollowOptions {
  /// Without holdings, live and older_versions stay empty, for callers that get them elsewhere.
  bool holdings = true;
  /// Messages of a lane to one neighbour are sent one after the other; without ports none waits for
  /// another.
  bool ports = true;
  LaneStarts* starts = nullptr;  // if given, receives when each action starts
};

/// Returns one step of a synchronous order, or the steady time per step of an asynchronous one, in
/// time linear in the number of actions. Waves on one device slow each other down according to
/// their occupancy. Throws Error{InvalidInput} if lanes wait for each other, which check() refuses.
PipelineEstimate follow(const Order&, const ScheduleShape&, const PipelineTimes&,
                        const FollowOptions& = {});

}  // namespace trainyard
