// Makes problems and orders for the solver's tests.
#pragma once

#include <algorithm>
#include <vector>

#include "core/base/random.h"
#include "planners/schedules/schedule_solver.h"

namespace trainyard {

struct Ratio {
  int forward, backward_input, backward_weight, transfer;
};

/// Equal stages; a microbatch is one byte on each, held until its weight gradient ends.
inline ScheduleProblem equal_stages(int devices, int chunks, int microbatches, Ratio r,
                                    std::int64_t limit = 0) {
  ScheduleProblem problem;
  problem.devices = devices, problem.microbatches = microbatches;
  problem.placement = chunks == 2 ? Placement::V : Placement::Cyclic;
  problem.transfer = Duration{r.transfer};
  for (int s = 0; s < devices * chunks; ++s)
    problem.stages.push_back(
        {Duration{r.forward}, Duration{r.backward_input}, Duration{r.backward_weight}, 0_B, 1_B});
  if (limit > 0) problem.limits.assign(static_cast<std::size_t>(devices), Bytes{limit});
  return problem;
}

/// Uneven times and bytes; transfers shorter than any pass. Limits from one microbatch on, or none.
inline ScheduleProblem random_problem(std::uint64_t seed, int most_devices, int most_microbatches) {
  const Random random(seed);
  std::uint64_t i = 0;
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return random.between(i++, low, high);
  };
  ScheduleProblem problem;
  problem.devices = static_cast<int>(pick(1, most_devices));
  problem.microbatches = static_cast<int>(pick(1, most_microbatches));
  const std::int64_t kind = pick(0, 4);  // plain pipelines, two or three chunks in turn, a V
  const int chunks = kind == 4 ? 2 : std::max(1, static_cast<int>(kind));
  if (kind == 4) problem.placement = Placement::V;
  problem.split_backward = pick(0, 3) > 0;
  problem.transfer = Duration{pick(0, 5)};
  std::vector<std::int64_t> one(static_cast<std::size_t>(problem.devices), 0);
  const int stages = problem.devices * chunks;
  for (int s = 0; s < stages; ++s) {
    problem.stages.push_back({Duration{pick(5, 20)}, Duration{pick(5, 20)}, Duration{pick(5, 20)},
                              Bytes{pick(0, 4)}, Bytes{pick(1, 8)}});
    const StageCost& c = problem.stages.back();
    one[device_of({static_cast<std::uint32_t>(s)}, problem.devices, stages, problem.placement)
            .value] += c.until_input.value + c.until_weight.value;
  }
  if (pick(0, 3) == 0) return problem;
  for (const std::int64_t bytes : one)
    problem.limits.push_back(Bytes{bytes + pick(0, bytes * 2 * problem.devices)});
  return problem;
}

inline ScheduleShape shape_of(const ScheduleProblem& p) {
  return {.devices = p.devices,
          .stages = static_cast<int>(p.stages.size()),
          .microbatches = p.microbatches,
          .steps = 1,
          .times = {},
          .placement = p.placement};
}

/// A random order with one lane per device: each takes any pass that is possible next, and
/// microbatches in no particular sequence.
inline Order random_order(const ScheduleProblem& p, std::uint64_t seed) {
  const Random random(seed);
  const auto stages = static_cast<std::uint32_t>(p.stages.size());
  const auto cells = static_cast<std::size_t>(stages) * static_cast<std::size_t>(p.microbatches);
  std::vector<int> done(cells, 0);  // passes of a microbatch on a stage
  const int passes = p.split_backward ? 3 : 2;
  Order order;
  for (int d = 0; d < p.devices; ++d)
    order.lanes.push_back({{static_cast<std::uint32_t>(d)}, "compute"});
  const auto at = [&](std::uint32_t s, int m) -> int& {
    return done[s * static_cast<std::size_t>(p.microbatches) + static_cast<std::size_t>(m)];
  };
  for (std::uint64_t step = 0;; ++step) {
    std::vector<Action> ready;
    for (std::uint32_t s = 0; s < stages; ++s)
      for (int m = 0; m < p.microbatches; ++m) {
        const int n = at(s, m);
        if (n == 0 && (s == 0 || at(s - 1, m) > 0)) ready.push_back({Phase::Forward, {s}, m});
        if (n == 1 && (s + 1 == stages || at(s + 1, m) > 1))
          ready.push_back({p.split_backward ? Phase::BackwardInput : Phase::Backward, {s}, m});
        if (n == 2 && passes == 3) ready.push_back({Phase::BackwardWeight, {s}, m});
      }
    if (ready.empty()) return order;
    const Action& a = ready[static_cast<std::size_t>(
        random.between(step, 0, static_cast<std::int64_t>(ready.size()) - 1))];
    ++at(a.stage.value, a.microbatch);
    order.lanes[device_of(a.stage, p.devices, static_cast<int>(stages), p.placement).value]
        .actions.push_back(a);
  }
}

}  // namespace trainyard
