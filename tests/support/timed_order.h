// Times an order with given times of each stage's passes and nothing else: when each device is busy
// and what it holds. It is implemented independently of the product's recurrences, so that it can
// check them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "core/program/order.h"

namespace trainyard::testing {

struct TimedOrder {
  Duration makespan{};
  std::vector<Duration> bubbles;  // of each device, between its own first start and last end
  // For each device, the most chunks between the start of their forward and the end of their last
  // backward.
  std::vector<int> live;

  Duration longest_bubble() const { return *std::max_element(bubbles.begin(), bubbles.end()); }
  Duration shortest_bubble() const { return *std::min_element(bubbles.begin(), bubbles.end()); }
  int most_live() const { return *std::max_element(live.begin(), live.end()); }
  int least_live() const { return *std::min_element(live.begin(), live.end()); }
};

inline Duration time_of(Phase phase, const PhaseTimes& t) {
  switch (phase) {
    case Phase::Forward:
      return t.forward;
    case Phase::Backward:
      return t.backward_input + t.backward_weight;
    case Phase::BackwardInput:
      return t.backward_input;
    case Phase::BackwardWeight:
      return t.backward_weight;
    case Phase::Update:
      break;
  }
  return Duration{};
}

/// One lane per device; times are those of one stage. pairs: a forward and the whole backward after
/// it, of another microbatch or stage, run as one pass from the start of both inputs to one end.
inline TimedOrder timed(const Order& order, const ScheduleShape& shape, const PhaseTimes& times,
                        bool pairs = false) {
  using Key = std::tuple<bool, std::uint32_t, std::int32_t>;  // forward or not, stage, microbatch
  struct Clock {
    std::size_t next = 0;
    Duration free{}, first{-1}, busy{};
  };
  std::map<Key, Duration> ended;
  std::vector<Clock> devices(order.lanes.size());
  // When its input is available; -1 = not yet.
  const auto input = [&](const Action& a) {
    const auto of = [&](bool forward, std::uint32_t stage) {
      const auto found = ended.find({forward, stage, a.microbatch});
      return found == ended.end() ? Duration{-1} : found->second;
    };
    const std::uint32_t s = a.stage.value;
    if (a.phase == Phase::Forward) return s == 0 ? Duration{} : of(true, s - 1);
    if (a.phase == Phase::BackwardWeight) return of(false, s);
    const Duration own = of(true, s);
    if (own < Duration{} || s + 1 == static_cast<std::uint32_t>(shape.stages)) return own;
    const Duration after = of(false, s + 1);
    return after < Duration{} ? after : std::max(own, after);
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t d = 0; d < devices.size(); ++d) {
      const std::vector<Action>& actions = order.lanes[d].actions;
      Clock& device = devices[d];
      while (device.next < actions.size()) {
        const bool pair = pairs && actions[device.next].phase == Phase::Forward &&
                          device.next + 1 < actions.size() &&
                          actions[device.next + 1].phase == Phase::Backward;
        Duration start = device.free, length{};
        bool there = true;
        for (std::size_t i = device.next; i <= device.next + (pair ? 1 : 0); ++i) {
          const Duration at = input(actions[i]);
          there = there && at >= Duration{};
          start = std::max(start, at), length += time_of(actions[i].phase, times);
        }
        if (!there) break;
        for (std::size_t i = 0; i <= (pair ? 1u : 0u); ++i, ++device.next) {
          const Action& a = actions[device.next];
          if (a.phase != Phase::BackwardWeight)
            ended[{a.phase == Phase::Forward, a.stage.value, a.microbatch}] = start + length;
        }
        if (device.first < Duration{}) device.first = start;
        device.free = start + length, device.busy += length, moved = true;
      }
    }
  }
  TimedOrder result;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const Clock& device = devices[d];
    EXPECT_EQ(device.next, order.lanes[d].actions.size()) << "device " << d << " waits for ever";
    result.makespan = std::max(result.makespan, device.free);
    result.bubbles.push_back(device.free - device.first - device.busy);
    int live = 0, most = 0;
    for (const Action& a : order.lanes[d].actions) {
      if (a.phase == Phase::Forward) most = std::max(most, ++live);
      if (a.phase == Phase::Backward || a.phase == Phase::BackwardWeight) --live;
    }
    result.live.push_back(most);
  }
  return result;
}

/// The ratios of F, B and W with which schedules are compared, in ns; all are even, so that a
/// chunk's half is whole.
inline constexpr PhaseTimes kEqual{Duration{1000}, Duration{1000}, Duration{1000}};
inline constexpr PhaseTimes kUneven{Duration{1000}, Duration{1200}, Duration{800}};
inline constexpr PhaseTimes kLongInput{Duration{1000}, Duration{1500}, Duration{1000}};
inline constexpr PhaseTimes kShortWeight{Duration{2000}, Duration{3000}, Duration{1000}};

}  // namespace trainyard::testing
