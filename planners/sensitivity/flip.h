// What would have to change for the runner-up to win: which causes lie between two plans, how far
// each would have to fall, and the value of each figure of the hardware or of the batch at which
// the other plan becomes the better one. By the closed form.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planners/plans/plan_figures.h"

namespace trainyard {

/// A figure that both plans share and that could be another.
enum class LeverKind : std::uint8_t {
  Bandwidth,        // of a level of links
  Latency,          // of a level of links
  MemoryCapacity,   // of a device
  MemoryBandwidth,  // of a device
  Peak,             // of a device, in every format
  HostLink,         // of a device
  GlobalBatch,
  Sequence,
};
struct Lever {
  LeverKind kind{};
  std::size_t level = 0;  // of Bandwidth and Latency
  friend bool operator==(const Lever&, const Lever&) = default;
};
/// The scenario with that figure so many times what it is; the batch and the sequence as they are
/// in the plan, rounded. The plan must be complete.
Scenario with_lever(Scenario, const Lever&, double factor);

/// A value of a figure at which the runner-up wins, and the last found at which it does not.
struct FlipPoint {
  Lever lever;
  std::string what;                // "bandwidth of the network"
  std::string now, at;             // "50.0 GB/s", "71.2 GB/s"
  double factor = 1;               // of what it is; at this the runner-up wins
  double short_of = 1;             // at this it does not
  Duration winner{}, runner_up{};  // steps at `factor`
  std::string sentence;            // both figures and both steps
};

/// A part of the step in both plans.
struct FlipCause {
  std::string_view name;
  Duration winner{}, runner_up{};
  bool enough = false;  // it alone could fall so far that the plans tie
  Duration falls_to{};  // of the runner-up, then
};

struct Flip {
  bool swapped = false;  // the second of the two plans is the one that wins
  PlanFigures winner, runner_up;
  std::vector<FlipCause> causes;  // in which the runner-up is the slower one, most first
  std::vector<FlipPoint> points;  // nearest to what is first
  std::string sentence;           // the gap and the nearest point, or that no single figure does it
};

/// Two plans for one model on one cluster. A plan wins that fits where the other does not, else the
/// one with the shorter step; ties go to the first. Figures are tried from a 64th to 64 times what
/// they are; the nearest flip in each direction is found to one part in a thousand, of a batch or
/// sequence between neighbouring values that both plans can have. Throws Error{InvalidInput} where
/// one of them is not legal, or they are not for one model and cluster and batch.
Flip flip(const Scenario&, const Scenario&, const CostOf&);

}  // namespace trainyard
