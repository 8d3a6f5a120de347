// Places weight gradients into lanes of forwards and input gradients: late, so that they fill idle
// time, but before memory runs out. This completes a schedule once the order of everything that
// travels between devices is fixed.
#pragma once

#include "planners/schedules/pipeline.h"

namespace trainyard {

/// Lanes without their weight gradients, one after another, each of chunks * microbatches * 2
/// steps.
using Travelling = std::vector<LaneStep>;

struct Placed {
  Lanes lanes;
  std::vector<Ticks> ends;  // of each device
};

/// It reuses its tables from one call to the next.
class WeightPlacer {
 public:
  explicit WeightPlacer(const Pipeline&);
  /// A gap takes a weight gradient that overruns it by at most the fraction `overrun` of its
  /// length: 0 = it must fit, 1 = no gap stays empty. Returns null if the lanes deadlock, or if
  /// there is no memory for a forward however early weight gradients run. The result belongs to the
  /// placer and is valid until the next call. Takes time linear in the number of steps.
  const Placed* place(const Travelling&, double overrun);

 private:
  bool advance(int device, const LaneStep* lane, double overrun);
  bool fill(int device, std::size_t stage, Part, Ticks arrival, double overrun);
  void weight(int device);

  const Pipeline& pipeline_;
  Placed found_;
  std::vector<Ticks> forward_end_, input_end_;
  std::vector<std::int32_t> done_;  // indexed by 3 stage + pass
  std::vector<std::size_t> next_, out_;
  std::vector<std::int64_t> held_;
  std::vector<std::int32_t> pending_;
  bool stuck_ = false;
};

}  // namespace trainyard
