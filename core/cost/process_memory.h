// ProcessMemory is the memory that a training process uses or loses beside the tensors of its plan.
// Its figures depend on framework and device, not on single tensors.
#pragma once

#include "core/base/units.h"
#include "core/cost/parameters.h"
#include "core/plan/software.h"

namespace trainyard {

struct ProcessMemory {
  Bytes context{};           // driver, libraries and their buffers, before any tensor exists; >= 0
  double fragmentation = 1;  // reserved over allocated at the peak, for tensors that are allocated
                             // and freed within a step; >= 1
  double logit_bytes = 0;  // least bytes held per logit at the peak of the stage with the loss; 0 =
                           // as the ops keep them
  double gathered_blocks = 0;  // least number of gathered blocks of tokens x hidden at the peak of
                               // a recomputed layer under sequence parallel
  double pressure_onset = 1;   // reserved share of the device's memory above which a step is slower
  double pressure_slope = 0;   // further share of the step's time that is lost per further share of
                               // memory
  friend bool operator==(const ProcessMemory&, const ProcessMemory&) = default;

  /// Returns the factor on the time of a step with this share of the device's memory reserved, >=
  /// 1.
  double slowdown(double share) const {
    return share > pressure_onset ? 1 + pressure_slope * (share - pressure_onset) : 1;
  }
};

/// Returns the device's own context and nothing more, for a plan that names no framework and for
/// arenas.
ProcessMemory plain_process(const Device&);
/// Returns the figures of the plan's framework. For a device without a context (arenas of this
/// machine) this is plain_process().
ProcessMemory framework_process(const SettledSoftware&, const Device&, const Parameters&);

}  // namespace trainyard
