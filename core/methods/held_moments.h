// What a device holds over a step that is followed without a program, and the moments of it that
// may be the fullest.
#pragma once

#include <cstdint>
#include <vector>

#include "core/methods/method.h"

namespace trainyard {

class HeldOverTime {
 public:
  /// A microbatch comes (begins) or goes; for_weight: of those whose weight gradient is still to
  /// come, which hold every microbatch from its forward on.
  void change(Duration at, bool begins, std::uint32_t copy, bool for_weight);
  void action(Phase, std::uint32_t copy, Duration start, Duration done);

  /// When most microbatches are held, each counted until its input pass and until its weight pass.
  std::vector<HeldCount> fullest();
  /// While each kind of action runs, what no other moment of it exceeds in every count.
  std::vector<HeldMoment> moments();

 private:
  // At one instant ends come first: what is freed at an instant may be given out at it.
  enum class Kind : std::uint8_t { Ends, Goes, Comes, Starts };
  struct Event {
    Duration at;
    Kind kind;
    bool for_weight;
    std::uint32_t copy;
    Phase phase;
  };
  void sort();

  std::vector<Event> events_;
  bool sorted_ = true;
};

/// The moments of schedules whose backward is in one part, where each copy of a stage holds `live`
/// at once (indexed as PipelineEstimate::live).
std::vector<std::vector<HeldMoment>> moments_of(const std::vector<int>& live, const ScheduleShape&);

}  // namespace trainyard
