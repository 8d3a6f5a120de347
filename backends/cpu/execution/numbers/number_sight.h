// A NumberSight is what a run notes of its numbers during one step
// (core/training/numbers/number_record.h).
#pragma once

#include <mutex>
#include <span>

#include "core/training/numbers/number_record.h"

namespace trainyard {

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
