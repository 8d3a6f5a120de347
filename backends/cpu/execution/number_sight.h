// A NumberSight is what a run notes of its numbers during one step (core/training/number_record.h).
#pragma once

#include <mutex>
#include <span>

#include "core/lowering/workload.h"
#include "core/training/number_record.h"

namespace trainyard {

/// Returns the window of each class of numbers in the format that the plan's products read them in,
/// or else in which they are kept. Gradients have that of the format in which the gradients of
/// activations travel back, of which those of weights are sums: it is there that they vanish.
ByNumberClass<NumberWindow> number_windows(const Workload&);

/// Notes of all devices of this process. Counts are whole numbers, whose sums do not depend on the
/// order in which devices note.
class NumberSight {
 public:
  void see(NumberClass, std::span<const float>, double scale = 1);
  void see_update(const CancelledCount&);
  SeenNumbers& seen() { return seen_; }  // once nothing notes any more

 private:
  std::mutex lock_;
  SeenNumbers seen_;
};

}  // namespace trainyard
