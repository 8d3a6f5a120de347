// Makes random valid orders, and checks independently whether an order is valid.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "core/base/random.h"
#include "core/program/order.h"

namespace trainyard::testing {

/// A sequence of random numbers.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  std::size_t below(std::size_t n) { return random_.bits(next_++) % n; }

 private:
  Random random_;
  std::uint64_t next_ = 0;
};

using Key = std::tuple<Phase, std::uint32_t, std::int32_t>;
inline Key key(const Action& a) { return {a.phase, a.stage.value, a.microbatch}; }

/// What an action needs, implemented a second time in the simplest way.
inline std::vector<Key> needs(const Action& a, int stages, const std::set<Key>& there) {
  const std::uint32_t s = a.stage.value;
  const int m = a.microbatch;
  std::vector<Key> list;
  if (a.phase == Phase::Forward && s > 0) list.push_back({Phase::Forward, s - 1, m});
  if (a.phase == Phase::Backward || a.phase == Phase::BackwardInput) {
    list.push_back({Phase::Forward, s, m});
    if (s + 1 < static_cast<std::uint32_t>(stages)) {
      const Key whole{Phase::Backward, s + 1, m};
      list.push_back(there.count(whole) > 0 ? whole : Key{Phase::BackwardInput, s + 1, m});
    }
  }
  if (a.phase == Phase::BackwardWeight) list.push_back({Phase::BackwardInput, s, m});
  return list;
}

inline std::set<Key> keys(const Order& order) {
  std::set<Key> all;
  for (const Lane& lane : order.lanes)
    for (const Action& a : lane.actions) all.insert(key(a));
  return all;
}

/// Returns whether all lanes can be worked through, found by doing so.
inline bool runs(const Order& order, int stages) {
  const std::set<Key> there = keys(order);
  std::set<Key> done;
  std::vector<std::size_t> next(order.lanes.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t l = 0; l < order.lanes.size(); ++l)
      while (next[l] < order.lanes[l].actions.size()) {
        const Action& a = order.lanes[l].actions[next[l]];
        const std::vector<Key> list = needs(a, stages, there);
        if (!std::all_of(list.begin(), list.end(), [&](const Key& k) { return done.count(k) > 0; }))
          break;
        done.insert(key(a)), ++next[l], moved = true;
      }
  }
  return done.size() == there.size();
}

/// Works through all actions of a shape in a random order that their data allow. Each stage splits
/// its backward or not at random.
inline Order random_order(const ScheduleShape& shape, Dice& dice) {
  Order order;
  for (int d = 0; d < shape.devices; ++d)
    order.lanes.push_back({{static_cast<std::uint32_t>(d)}, "compute"});
  std::vector<Action> waiting;
  for (int s = 0; s < shape.stages; ++s) {
    const bool split = dice.below(2) == 0;
    const StageId stage{static_cast<std::uint32_t>(s)};
    for (int m = 0; m < shape.microbatches; ++m) {
      waiting.push_back({Phase::Forward, stage, m});
      waiting.push_back({split ? Phase::BackwardInput : Phase::Backward, stage, m});
      if (split) waiting.push_back({Phase::BackwardWeight, stage, m});
    }
  }
  std::set<Key> there, done;
  for (const Action& a : waiting) there.insert(key(a));
  while (!waiting.empty()) {
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      const std::vector<Key> list = needs(waiting[i], shape.stages, there);
      if (std::all_of(list.begin(), list.end(), [&](const Key& k) { return done.count(k) > 0; }))
        ready.push_back(i);
    }
    const std::size_t at = ready[dice.below(ready.size())];
    const Action a = waiting[at];
    const DeviceId device = device_of(a.stage, shape.devices, shape.stages, shape.placement);
    order.lanes[device.value].actions.push_back(a);
    done.insert(key(a));
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return order;
}

/// Lets some of the neighbours that may run together do so.
inline void pair_some(Order& order, const ScheduleShape& shape, Dice& dice) {
  for (Lane& lane : order.lanes)
    for (std::size_t i = 1; i < lane.actions.size(); ++i) {
      Action& a = lane.actions[i];
      if (lane.actions[i - 1].paired || dice.below(2) == 0) continue;
      a.paired = true;
      a.paired = check(order, shape).empty();
    }
}

/// Up to 4 devices, 3 chunks and 6 microbatches.
inline ScheduleShape random_shape(Dice& dice) {
  ScheduleShape shape;
  shape.devices = 1 + static_cast<int>(dice.below(4));
  shape.stages = shape.devices * (1 + static_cast<int>(dice.below(3)));
  shape.microbatches = 1 + static_cast<int>(dice.below(6));
  shape.placement = dice.below(2) == 0 ? Placement::Cyclic : Placement::V;
  return shape;
}

}  // namespace trainyard::testing
