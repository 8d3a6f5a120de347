// What a program says of itself: delays, weight versions, microbatches in flight and traffic, read
// off its instructions. No formula of any method enters here; those stand in tests as expected
// values.
//
// Versions are those that instructions carry: computations the one they read, updates in compute
// streams the one they write, counting from 1; a gradient is taken in by the next update of its
// stage in its own stream. A stream without updates of its own leaves them to another stream of the
// device, at the end of each step, so that the update numbered as the microbatch's step takes its
// gradient in. A synchronous program of several steps reads version `step` and writes `step + 1`;
// where no update of a stage carries a version, each makes the next one and every computation reads
// the newest. Version v is needed from the update that writes it (0: from the start) until its last
// reader or the next update, whichever is later; waves that write the same version twice hold
// weights of their own, and what each needs is added.
#pragma once

#include <vector>

#include "core/program/program.h"

namespace trainyard {

/// One copy of one stage. Delays are counted in updates of the stage's weights: version(update that
/// takes the gradient in) - 1 - version(read), 0 where nothing is stale. "Most" is over the last
/// step of the program, when the pipeline is as full as it gets.
struct StageFacts {
  StageId stage;
  DeviceId device;
  int forward_delay = 0;           // most, of the version that a forward read
  int backward_delay = 0;          // most, of the version that a backward read
  int mean_delay_thousandths = 0;  // of forwards, over the last step
  bool consistent = true;          // every backward read the version that its forward read
  int versions = 1;  // most weight versions needed at once, the current one among them
  int live = 0;      // most microbatches between the start of their forward and the end of
                     // their last backward, in the order of the device's own work; lanes of one
                     // device may have theirs at once, so they are added
  Bytes sent{};      // activations and gradients to other stages, by one microbatch
};

/// One entry a copy of a stage, by stage, then copy. Works on both grains. Linear in the
/// instructions.
std::vector<StageFacts> facts(const Program&);

/// One forward pass: how old the weights it read were when its gradient was applied.
struct Staleness {
  StageId stage;
  std::int32_t microbatch = 0;
  int delay = 0;           // in updates
  bool consistent = true;  // its backward read the same version
};
/// Every forward whose gradient is applied within the program, by stage, then microbatch.
std::vector<Staleness> staleness(const Program&);

}  // namespace trainyard
