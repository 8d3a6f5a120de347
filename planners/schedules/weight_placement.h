// Weight gradients put into lanes of forwards and input gradients: late, so that they fill what
// would be idle, but before memory runs out. What is left of a schedule once the order of all that
// travels between devices is settled.
#pragma once

#include "planners/schedules/pipeline.h"

namespace trainyard {

/// Lanes without their weight gradients, one after another, chunks x microbatches x 2 steps each.
using Travelling = std::vector<LaneStep>;

struct Placed {
  Lanes lanes;
  std::vector<Ticks> ends;  // of each device
};

/// Keeps its tables from one call to the next.
class WeightPlacer {
 public:
  explicit WeightPlacer(const Pipeline&);
  /// A gap takes a weight gradient that overruns it by at most this part of itself: 0 = it must
  /// fit, 1 = no gap stays empty. Null where the lanes wait for each other or a forward finds no
  /// room however early weight gradients run. The result is the placer's own and holds until the
  /// next call. Linear in the steps.
  const Placed* place(const Travelling&, double overrun);

 private:
  bool advance(int device, const LaneStep* lane, double overrun);
  bool fill(int device, std::size_t stage, Part, Ticks arrival, double overrun);
  void weight(int device);

  const Pipeline& pipeline_;
  Placed found_;
  std::vector<Ticks> forward_end_, input_end_;
  std::vector<std::int32_t> done_;  // 3 stage + pass
  std::vector<std::size_t> next_, out_;
  std::vector<std::int64_t> held_;
  std::vector<std::int32_t> pending_;
  bool stuck_ = false;
};

}  // namespace trainyard
