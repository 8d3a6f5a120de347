#include "planners/schedules/time_order.h"

#include <algorithm>

#include "core/methods/orders/recurrence.h"
#include "planners/index.h"

namespace trainyard {
namespace {

// Nothing contends: neither messages nor the lanes of a device wait for each other.
PipelineTimes times_of(const ScheduleProblem& problem) {
  PipelineTimes times;
  times.transfer = problem.transfer, times.fill = 1e-9;
  for (const StageCost& c : problem.stages) {
    times.forward.push_back({.compute = c.forward});
    times.backward.push_back({.compute = c.backward_input + c.backward_weight});
    times.backward_input.push_back({.compute = c.backward_input});
    times.backward_weight.push_back({.compute = c.backward_weight});
  }
  return times;
}

// How long an action runs, and by how much it changes what the device holds: a forward at its
// start, any other at its end.
struct OrderPass {
  Duration length{};
  std::int64_t bytes = 0;
};

OrderPass pass_of(const Action& a, const StageCost& c) {
  const std::int64_t early = c.until_input.value, late = c.until_weight.value;
  switch (a.phase) {
    case Phase::Forward:
      return {c.forward, early + late};
    case Phase::Backward:
      return {c.backward_input + c.backward_weight, -early - late};
    case Phase::BackwardInput:
      return {c.backward_input, -early};
    case Phase::BackwardWeight:
      return {c.backward_weight, -late};
    case Phase::Update:
      break;
  }
  return {};
}

// A change of what a device holds; at equal times, releases come first.
struct HeldChange {
  Duration when{};
  std::int64_t bytes = 0;
  friend auto operator<=>(const HeldChange&, const HeldChange&) = default;
};

}  // namespace

OrderTiming time_order(const Order& order, const ScheduleProblem& problem) {
  OrderTiming found;
  follow(order,
         {.devices = problem.devices,
          .stages = static_cast<int>(problem.stages.size()),
          .microbatches = problem.microbatches,
          .steps = steps_of(order, problem.microbatches),
          .placement = problem.placement},
         times_of(problem), {.holdings = false, .ports = false, .starts = &found.starts});
  Duration begin = Duration::max();
  found.spans.resize(at(problem.devices)), found.peaks.resize(at(problem.devices));
  for (std::size_t d = 0; d < found.spans.size(); ++d) {
    std::vector<HeldChange> changes;
    Duration first = Duration::max(), last{};
    std::size_t lanes = 0;
    for (std::size_t l = 0; l < order.lanes.size(); ++l) {
      const Lane& lane = order.lanes[l];
      if (lane.device.value != d || lane.actions.empty()) continue;
      ++lanes;
      first = std::min(first, found.starts[l].front());
      for (std::size_t i = 0; i < lane.actions.size(); ++i) {
        const OrderPass pass =
            pass_of(lane.actions[i], problem.stages[lane.actions[i].stage.value]);
        const Duration start = found.starts[l][i], end = start + pass.length;
        changes.push_back({pass.bytes > 0 ? start : end, pass.bytes});
        last = std::max(last, end);
      }
    }
    if (lanes == 0) continue;
    // A single lane is already in sequence, even if actions take no time.
    if (lanes > 1) std::stable_sort(changes.begin(), changes.end());
    std::int64_t held = 0;
    for (const HeldChange& c : changes) {
      held += c.bytes;
      found.peaks[d].value = std::max(found.peaks[d].value, held);
    }
    found.spans[d] = last - first;
    found.longest_span = std::max(found.longest_span, found.spans[d]);
    found.makespan = std::max(found.makespan, last);
    begin = std::min(begin, first);
  }
  if (found.makespan > Duration{}) found.makespan -= begin;
  return found;
}

}  // namespace trainyard
