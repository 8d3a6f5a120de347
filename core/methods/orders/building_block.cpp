#include "core/methods/orders/building_block.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>
#include <utility>

namespace trainyard {
namespace {

constexpr int kPeriod = 6;  // forward, input and weight gradient of two chunks

struct PeriodPass {
  Phase phase = Phase::Forward;
  StageId stage;
  int slot = 0;  // slot of microbatch 0
};

// Returns the first slot after this one with that residue modulo the period.
int next_slot(int slot, int residue) {
  return slot + 1 + ((residue - slot - 1) % kPeriod + kPeriod) % kPeriod;
}

// Returns the six passes of microbatch 0 on one device.
std::array<PeriodPass, kPeriod> passes(const RepeatedBlock& b, int devices, int device) {
  const int last = devices - 1, up = last - device;
  const StageId down_stage{static_cast<std::uint32_t>(device)},
      up_stage{static_cast<std::uint32_t>(2 * devices - 1 - device)};
  const int forward_turns = last * b.forward_down + b.turn_forward,
            backward_starts = forward_turns + last * b.forward_up + b.loss,
            backward_turns = backward_starts + last * b.backward_down + b.turn_backward;
  const int forward_down = device * b.forward_down, forward_up = forward_turns + up * b.forward_up,
            backward_down = backward_starts + device * b.backward_down,
            backward_up = backward_turns + up * b.backward_up;

  std::array<bool, kPeriod> taken{};
  for (int slot : {forward_down, forward_up, backward_down, backward_up}) {
    assert(!taken[static_cast<std::size_t>(slot % kPeriod)] && "two passes in one slot");
    taken[static_cast<std::size_t>(slot % kPeriod)] = true;
  }
  std::array<int, 2> left{};
  for (int residue = 0, n = 0; residue < kPeriod; ++residue)
    if (!taken[static_cast<std::size_t>(residue)]) left[static_cast<std::size_t>(n++)] = residue;
  // There are two ways to assign the two free slots; the one that keeps less is taken.
  int first = next_slot(backward_down, left[0]), second = next_slot(backward_up, left[1]);
  const int other_first = next_slot(backward_down, left[1]),
            other_second = next_slot(backward_up, left[0]);
  if (other_first + other_second < first + second) first = other_first, second = other_second;

  return {{{Phase::Forward, down_stage, forward_down},
           {Phase::Forward, up_stage, forward_up},
           {Phase::BackwardInput, up_stage, backward_down},
           {Phase::BackwardInput, down_stage, backward_up},
           {Phase::BackwardWeight, up_stage, first},
           {Phase::BackwardWeight, down_stage, second}}};
}

// Returns the passes of every microbatch in the order of their slots, a merge of arithmetic
// sequences.
Lane merged(const std::array<PeriodPass, kPeriod>& block, int device, int microbatches) {
  Lane lane{{static_cast<std::uint32_t>(device)}, "compute"};
  lane.actions.reserve(block.size() * static_cast<std::size_t>(microbatches));
  std::array<int, kPeriod> done{};
  while (lane.actions.size() < lane.actions.capacity()) {
    std::size_t first = kPeriod;
    std::int64_t at = 0;
    for (std::size_t i = 0; i < block.size(); ++i) {
      const std::int64_t slot = block[i].slot + std::int64_t{kPeriod} * done[i];
      if (done[i] < microbatches && (first == kPeriod || slot < at)) first = i, at = slot;
    }
    if (first == kPeriod) break;
    lane.actions.push_back({block[first].phase, block[first].stage, done[first]++});
  }
  return lane;
}

// WeightLane is one device while weight gradients are placed.
struct WeightLane {
  std::vector<Action> passes{};  // forwards and input gradients, in order
  std::size_t next = 0;
  std::vector<Action> owed{};  // weight gradients that may run; those before index `paid` have run
  std::size_t paid = 0;
  int live = 0;  // forwards whose weight gradient is not done
  Duration free{};
  Lane lane{};  // the result so far
};

// Filler runs forwards and input gradients as soon as their input is there.
class Filler {
 public:
  Filler(const Order& order, const ScheduleShape& shape) : shape_(shape) {
    const auto cells =
        static_cast<std::size_t>(shape.stages) * static_cast<std::size_t>(shape.microbatches);
    forward_.assign(cells, kUnknown), backward_.assign(cells, kUnknown);
    for (const Lane& lane : order.lanes) devices_.push_back(device_of_lane(lane));
  }

  Order run() {
    std::vector<std::size_t> awake(devices_.size());
    std::iota(awake.rbegin(), awake.rend(), std::size_t{0});
    while (!awake.empty()) {
      const std::size_t d = awake.back();
      awake.pop_back();
      while (act(devices_[d], awake)) {
      }
    }
    Order order;
    for (WeightLane& device : devices_) {
      while (device.paid < device.owed.size()) weight_gradient(device);
      order.lanes.push_back(std::move(device.lane));
    }
    return order;
  }

 private:
  static constexpr Duration kUnknown{-1};

  WeightLane device_of_lane(const Lane& lane) {
    WeightLane device;
    device.lane = {lane.device, lane.name};
    device.lane.actions.reserve(lane.actions.size());
    int live = 0;
    for (const Action& a : lane.actions) {
      if (a.phase == Phase::Forward) limit_ = std::max(limit_, ++live);
      if (a.phase == Phase::BackwardWeight)
        --live;
      else
        device.passes.push_back(a);
    }
    return device;
  }

  // Runs the device's next pass if its input is there, and wakes the device that waits for its
  // result.
  bool act(WeightLane& device, std::vector<std::size_t>& awake) {
    if (device.next == device.passes.size()) return false;
    const Action& a = device.passes[device.next];
    const bool forward = a.phase == Phase::Forward;
    const std::size_t s = a.stage.value, last = static_cast<std::size_t>(shape_.stages) - 1;
    const std::size_t at = static_cast<std::size_t>(a.microbatch) * (last + 1) + s;
    Duration ready{};
    if (forward && s > 0) ready = arrival(forward_[at - 1], s - 1, s);
    if (!forward) ready = s < last ? arrival(backward_[at + 1], s + 1, s) : forward_[at];
    if (ready == kUnknown) return false;

    const Duration weight = shape_.times.backward_weight;
    while (device.paid < device.owed.size() &&
           ((ready > device.free && ready - device.free >= weight) ||
            (forward && device.live >= limit_)))
      weight_gradient(device);
    ++device.next;
    device.lane.actions.push_back(a);
    device.free = std::max(device.free, ready) +
                  (forward ? shape_.times.forward : shape_.times.backward_input);
    (forward ? forward_ : backward_)[at] = device.free;
    if (forward) {
      ++device.live;
      if (s < last) awake.push_back(place(s + 1));
    } else {
      device.owed.push_back({Phase::BackwardWeight, a.stage, a.microbatch});
      if (s > 0) awake.push_back(place(s - 1));
    }
    return true;
  }

  void weight_gradient(WeightLane& device) {
    device.lane.actions.push_back(device.owed[device.paid++]);
    device.free += shape_.times.backward_weight;
    --device.live;
  }

  std::size_t place(std::size_t stage) const {
    return device_of({static_cast<std::uint32_t>(stage)}, shape_.devices, shape_.stages,
                     Placement::V)
        .value;
  }
  Duration arrival(Duration ended, std::size_t from, std::size_t to) const {
    if (ended == kUnknown || place(from) == place(to)) return ended;
    return ended + shape_.times.transfer;
  }

  const ScheduleShape& shape_;
  std::vector<WeightLane> devices_;
  std::vector<Duration> forward_, backward_;  // ends of forwards and input gradients
  int limit_ = 0;                             // most microbatches that a device may hold
};

}  // namespace

Order repeat(const RepeatedBlock& block, const ScheduleShape& shape) {
  assert(shape.stages == 2 * shape.devices && "check() has refused the rest");
  Order order;
  for (int d = 0; d < shape.devices; ++d)
    order.lanes.push_back(merged(passes(block, shape.devices, d), d, shape.microbatches));
  return order;
}

Order repeat_and_fill(const RepeatedBlock& block, const ScheduleShape& shape) {
  return Filler(repeat(block, shape), shape).run();
}

}  // namespace trainyard
