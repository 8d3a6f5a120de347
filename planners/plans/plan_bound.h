// Bounds a plan's time from below, and computes its memory as the closed form does, from the sums
// of its stages.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "planners/plans/holdings.h"
#include "planners/plans/layer_prices.h"

namespace trainyard {

/// The price of one kind of stage; times are in nanoseconds, for one microbatch unless stated per
/// step.
struct KindPrice {
  std::int64_t forward = 0, back = 0, both = 0;  // its phases: forward, (input) backward, all
  std::int64_t weights = 0;  // all phases, with computation and the arrival of weights overlapped
  std::int64_t first = 0;    // reduction of gradients that delays the next microbatch
  Bytes lasting{}, older{}, resident{}, further{}, bucket{};
  Bytes live{}, for_weight{};           // per microbatch, see HeldCount
  std::array<Bytes, kPhases> action{};  // while each of its phases runs
  // Nanoseconds per step: reducing the gradients of all layers, and of the layer that is ready
  // last; the update; then gathering the weights, either blocking (`publish`) or overlapping up to
  // the first forward (`arrive`).
  std::int64_t reduce = 0, reduce_last = 0, update = 0, publish = 0, arrive = 0;
  bool reduce_overlapped = false;
};

/// Combines the sums of a stage. In a lane's chain of actions each action takes at least its
/// computation plus the communication that blocks it, and at least its weights' arrival plus its
/// computation (core/methods/orders/action_clock.h). `split`: the backward is split.
KindPrice combine(const StageWorkSum&, const StageStateSum&, bool split, bool reduce_every);

/// The running sums of one device while its stages are added up.
struct DeviceSum {
  std::int64_t fill = -1, drain = 0, both = 0, weights = 0, chain = 0, reduce = 0, update = 0,
               blocked = 0;
  std::int64_t tail = 0;  // time after its last backward
  Bytes lasting{}, resident{}, further{}, bucket{};
};

/// What all stages have in common.
struct Pricing {
  const ProcessMemory& process;
  std::int64_t transfer = 0;
  int microbatches = 1;
  bool reduce_every = false, blocking_sends = false;
};

/// The step in nanoseconds, and the memory reserved on the fullest device.
struct StepBound {
  std::int64_t step = 0;
  Bytes memory{};
  std::uint16_t device = 0;
};

/// The bound for a plan with these stages. `devices` is scratch space, one entry per device.
StepBound bound_of(const std::vector<KindPrice>&, const std::vector<std::uint16_t>& kind_of,
                   const Holdings&, const Pricing&, std::vector<DeviceSum>& devices);

}  // namespace trainyard
