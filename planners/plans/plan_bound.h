// A plan's time and memory from the sums of its stages: the memory as the closed form has it, the
// time from below.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "planners/plans/holdings.h"
#include "planners/plans/layer_prices.h"

namespace trainyard {

/// One kind of stage; times in nanoseconds, of one microbatch where not of a step.
struct KindPrice {
  std::int64_t forward = 0, back = 0, both = 0;  // its phases: forward, (input) backward, all
  std::int64_t weights = 0;                      // all phases as their weights arrive
  std::int64_t first = 0;                        // gradients that hold up the next microbatch
  Bytes lasting{}, older{}, resident{}, further{}, bucket{};
  Bytes live{}, for_weight{};           // of each microbatch, see HeldCount
  std::array<Bytes, kPhases> action{};  // while each of its phases runs
  // Of a step: gradients of all layers, of the one ready last; the update; weights after it, waited
  // for, or arriving ahead of the first forward.
  std::int64_t reduce = 0, reduce_last = 0, update = 0, publish = 0, arrive = 0;
  bool reduce_overlapped = false;
};

/// Of a lane's chain of actions, each takes at least its computation with what blocks it, and at
/// least its weights' arrival with its computation (core/methods/orders/action_clock.h). `split`:
/// its backward is split.
KindPrice combine(const StageWorkSum&, const StageStateSum&, bool split, bool reduce_every);

/// One device, while its stages are added up.
struct DeviceSum {
  std::int64_t fill = -1, drain = 0, both = 0, weights = 0, chain = 0, reduce = 0, update = 0,
               blocked = 0;
  std::int64_t tail = 0;  // after its last backward
  Bytes lasting{}, resident{}, further{}, bucket{};
};

/// What is the same for all stages.
struct Pricing {
  const ProcessMemory& process;
  std::int64_t transfer = 0;
  int microbatches = 1;
  bool reduce_every = false, blocking_sends = false;
};

/// Step in nanoseconds; memory reserved on the fullest device.
struct StepBound {
  std::int64_t step = 0;
  Bytes memory{};
  std::uint16_t device = 0;
};

/// What no plan with these stages undercuts. `devices`: room for them, one each.
StepBound bound_of(const std::vector<KindPrice>&, const std::vector<std::uint16_t>& kind_of,
                   const Holdings&, const Pricing&, std::vector<DeviceSum>& devices);

}  // namespace trainyard
