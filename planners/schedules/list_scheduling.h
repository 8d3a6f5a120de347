// List scheduling finds an order by simulating the devices: each takes the most urgent pass that is
// ready, within limits that a policy sets. Pure greed fills memory with forwards that cannot be
// completed soon, so the quality depends on the limit of microbatches in flight at each stage.
#pragma once

#include "planners/schedules/pipeline.h"

namespace trainyard {

struct ListPolicy {
  std::vector<std::int32_t> under_way;  // per stage: most forwards ahead of backwards, >= 1
  // The device waits for a known arrival rather than begin a weight gradient that would delay it by
  // more than this fraction of the weight gradient's length.
  double patience = 0;
  double forward_patience = 0;  // the same for a forward that would delay an arriving gradient
  bool alternate = false;       // after a gradient, a forward may go before a ready gradient
  // The times of microbatch 0 at each stage in a regular schedule with this period, indexed by 2
  // stage + part; of the passes that are ready, the one that is earliest in that schedule goes
  // first. Empty means gradients first, then later chunks.
  std::vector<std::int32_t> nominal = {};
  std::int32_t period = 6;
};

struct ListSchedule {
  Lanes lanes;
  std::vector<Ticks> ends;
};

/// Runs policies; it reuses its tables from one call to the next.
class ListScheduler {
 public:
  explicit ListScheduler(const Pipeline&);
  /// The microbatches in flight of all stages of a device must together fit its limit; this rules
  /// out deadlock. The result belongs to the scheduler and is valid until the next run. Takes time
  /// linear in the number of steps, times the logarithm of the number of devices.
  const ListSchedule& run(const ListPolicy&);

 private:
  struct Device {
    Ticks now = 0;  // end of its last step, or when it looks for work again
    Ticks free = 0;
    std::int64_t held = 0;
    std::int32_t pending = 0;  // input gradients whose weight gradient has not run
    bool idle = false, after_input = false;
    std::size_t next = 0;
  };
  struct Choice {
    int chunk = -1;
    Part pass = kForward;
    Ticks again = kNever;  // if there is nothing to do: when to look again
  };

  Choice choose(int device, const ListPolicy&) const;
  Choice choose_nominal(int device, const ListPolicy&) const;
  Choice weight(int device) const;
  void take(int device, int chunk, Part);
  void arrive(int stage, Part, std::int32_t microbatch, Ticks);
  void wake(int device, Ticks);
  int earliest() const { return tree_[1]; }
  void reseat(int device);

  const Pipeline& pipeline_;
  ListSchedule found_;
  std::vector<Device> devices_;
  std::vector<std::int32_t> done_;        // indexed by 3 stage + pass
  std::vector<Ticks> arrival_[2];         // when a microbatch's input reaches a stage, by pass
  std::vector<std::int32_t> arrived_[2];  // number of microbatches whose arrival is known, by stage
  std::vector<std::int32_t> tree_;  // tournament tree of devices by the time of their next action
  std::size_t leaves_ = 1;
};

}  // namespace trainyard
