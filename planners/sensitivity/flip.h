// Finds what would have to change for the runner-up of two plans to win: which causes separate the
// plans, how far each would have to fall, and the value of each hardware figure, or of the batch,
// at which the other plan becomes the better one. All figures are those of the closed form.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planners/plans/plan_figures.h"

namespace trainyard {

/// A figure that both plans share and that can be varied.
enum class LeverKind : std::uint8_t {
  Bandwidth,        // of one level of links
  Latency,          // of one level of links
  MemoryCapacity,   // of a device
  MemoryBandwidth,  // of a device
  Peak,             // of a device, in every format
  HostLink,         // of a device
  GlobalBatch,
  Sequence,
};
struct Lever {
  LeverKind kind{};
  std::size_t level = 0;  // the level, for Bandwidth and Latency
  friend bool operator==(const Lever&, const Lever&) = default;
};
/// The scenario with that figure multiplied by `factor`; batch and sequence are taken from the plan
/// and rounded. The plan must be complete.
Scenario with_lever(Scenario, const Lever&, double factor);

/// A value of a figure at which the runner-up wins, and the last value found at which it does not.
struct FlipPoint {
  Lever lever;
  std::string what;                // "bandwidth of the network"
  std::string now, at;             // "50.0 GB/s", "71.2 GB/s"
  double factor = 1;               // multiple of the present value at which the runner-up wins
  double short_of = 1;             // multiple at which it does not win yet
  Duration winner{}, runner_up{};  // steps at `factor`
  std::string sentence;            // states both values and both steps
};

/// One part of the step in both plans.
struct FlipCause {
  std::string_view name;
  Duration winner{}, runner_up{};
  bool enough = false;  // the runner-up would tie if this part alone fell far enough
  Duration falls_to{};  // the runner-up's part at that tie
};

struct Flip {
  bool swapped = false;  // the second of the two plans is the winner
  PlanFigures winner, runner_up;
  std::vector<FlipCause> causes;  // parts in which the runner-up is slower, largest gap first
  std::vector<FlipPoint> points;  // nearest to the present value first
  // States the gap and the nearest point, or that no single figure flips the result.
  std::string sentence;
};

/// Compares two plans for one model on one cluster. A plan that fits wins over one that does not;
/// otherwise the shorter step wins, and ties go to the first. Each figure is varied from 1/64 to 64
/// times its value. The nearest flip in each direction is found to one part in a thousand; for a
/// batch or sequence, to neighbouring values that both plans can have. Throws Error{InvalidInput}
/// if one of the plans is not legal, or if they differ in model, cluster or batch.
Flip flip(const Scenario&, const Scenario&, const CostOf&);

}  // namespace trainyard
