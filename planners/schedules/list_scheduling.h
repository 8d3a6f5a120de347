// Orders found by letting the devices work: each takes the most urgent pass that is ready, within
// limits that a policy sets. Greed alone keeps memory for forwards that lead nowhere soon; what
// makes it good is how many microbatches each stage may have under way.
#pragma once

#include "planners/schedules/pipeline.h"

namespace trainyard {

struct ListPolicy {
  std::vector<std::int32_t> under_way;  // of each stage: most forwards ahead of its backwards,
                                        // at least 1
  double patience = 0;  // waits for a known arrival rather than begin a weight gradient of which
                        // more than this part would delay it
  double forward_patience = 0;  // the same for a forward and an arriving gradient
  bool alternate = false;       // a forward may go before a ready gradient after another gradient
  // When microbatch 0 would be at each stage in a regular schedule of this period, 2 stage + part:
  // of what is ready, the one first in it goes first. Empty: gradients first, then late chunks.
  std::vector<std::int32_t> nominal = {};
  std::int32_t period = 6;
};

struct ListSchedule {
  Lanes lanes;
  std::vector<Ticks> ends;
};

/// Runs policies; keeps its tables from one call to the next.
class ListScheduler {
 public:
  explicit ListScheduler(const Pipeline&);
  /// The bytes of a device's stages under way must fit its limit together: then it never gets
  /// stuck. The result is the scheduler's own and holds until the next run. Linear in the steps,
  /// times the logarithm of the devices.
  const ListSchedule& run(const ListPolicy&);

 private:
  struct Device {
    Ticks now = 0;  // its last step ends, or it looks again
    Ticks free = 0;
    std::int64_t held = 0;
    std::int32_t pending = 0;  // input gradients without weight gradient
    bool idle = false, after_input = false;
    std::size_t next = 0;
  };
  struct Choice {
    int chunk = -1;
    Part pass = kForward;
    Ticks again = kNever;  // when to look again, where there is nothing to do
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
  std::vector<std::int32_t> done_;        // 3 stage + pass
  std::vector<Ticks> arrival_[2];         // of a microbatch's input at a stage, by pass
  std::vector<std::int32_t> arrived_[2];  // how many have a known arrival, by stage
  std::vector<std::int32_t> tree_;        // tournament of devices by when they act next
  std::size_t leaves_ = 1;
};

}  // namespace trainyard
