// This file tracks which microbatches a device holds in the course of a step whose order is
// followed without a program, and finds the moments at which its memory may peak.
#pragma once

#include <cstdint>
#include <vector>

#include "core/methods/method.h"

namespace trainyard {

/// Collects what one device's actions do to the microbatches that it holds.
class HeldOverTime {
 public:
  /// `alone`: it is a forward of a stage without backward, which keeps nothing of its microbatch.
  void action(Phase, std::uint32_t copy, Duration start, Duration done, bool alone);
  /// Records that the activations of a microbatch come back from the host (comes) or leave for it,
  /// between its forward and its backward.
  void host_copy(Duration at, bool comes, std::uint32_t copy);

  /// Returns for each kind of action the moments that no other moment of that kind exceeds in every
  /// count.
  std::vector<HeldMoment> moments();

 private:
  // At one instant, ends are processed before starts, because what is freed at an instant may be
  // allocated again at it.
  enum class Kind : std::uint8_t { Ends, Leaves, Comes, Starts };
  struct Event {
    Duration at;
    Kind kind;
    Phase phase;
    std::uint32_t copy;
    int live, for_weight;  // changes of the copy's counts
    bool runs;             // the action runs between its events Starts and Ends
  };

  std::vector<Event> events_;
};

/// Returns the moments for schedules whose backward is in one part, where each copy of a stage
/// holds `live` microbatches at most (indexed as PipelineEstimate::live).
std::vector<std::vector<HeldMoment>> moments_of(const std::vector<int>& live, const ScheduleShape&);

}  // namespace trainyard
