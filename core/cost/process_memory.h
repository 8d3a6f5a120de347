// What a training process holds and loses beside the tensors of its plan: figures of its framework
// and device, not of any one tensor.
#pragma once

#include "core/base/units.h"
#include "core/cost/parameters.h"
#include "core/plan/software.h"

namespace trainyard {

struct ProcessMemory {
  Bytes context{};           // driver, libraries and their buffers, before any tensor; >= 0
  double fragmentation = 1;  // reserved over allocated at the peak, of tensors that come and go, >=
                             // 1
  double logit_bytes = 0;  // held a logit at the peak of the stage with the loss, at least; 0 = as
                           // the ops keep them
  double gathered_blocks = 0;  // whole blocks of tokens x hidden at the peak of a layer that is
                               // recomputed under sequence parallel, at least
  double pressure_onset = 1;   // share of the device's memory, reserved, above which it is slower
  double pressure_slope = 0;   // lost time, of the step, for each further share
  friend bool operator==(const ProcessMemory&, const ProcessMemory&) = default;

  /// Of a step with this share of the device's memory reserved, >= 1.
  double slowdown(double share) const {
    return share > pressure_onset ? 1 + pressure_slope * (share - pressure_onset) : 1;
  }
};

/// The device's own context and nothing more: of a plan that names no framework, and of arenas.
ProcessMemory plain_process(const Device&);
/// As the plan's framework has it. A device without a context (arenas of this machine) is plain.
ProcessMemory framework_process(const SettledSoftware&, const Device&, const Parameters&);

}  // namespace trainyard
