// Which microbatches a device holds in the course of a step whose order is followed without a
// program, and the moments of the step at which its memory may be fullest.
#pragma once

#include <cstdint>
#include <vector>

#include "core/methods/method.h"

namespace trainyard {

/// Collects what one device's actions do to the microbatches that it holds.
class HeldOverTime {
 public:
  void action(Phase, std::uint32_t copy, Duration start, Duration done);
  /// Activations of a microbatch come back from the host (comes) or leave for it, between its
  /// forward and its backward.
  void host_copy(Duration at, bool comes, std::uint32_t copy);

  /// For each kind of action the moments that no other moment of it exceeds in every count.
  std::vector<HeldMoment> moments();

 private:
  // At one instant ends come first: what is freed at an instant may be given out at it.
  enum class Kind : std::uint8_t { Ends, Leaves, Comes, Starts };
  struct Event {
    Duration at;
    Kind kind;
    Phase phase;
    std::uint32_t copy;
    int live, for_weight;  // changes of the copy's counts
    bool runs;             // from Starts to Ends the action runs
  };

  std::vector<Event> events_;
};

/// The moments of schedules whose backward is in one part, where each copy of a stage holds `live`
/// at once (indexed as PipelineEstimate::live).
std::vector<std::vector<HeldMoment>> moments_of(const std::vector<int>& live, const ScheduleShape&);

}  // namespace trainyard
