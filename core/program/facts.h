// Facts are what a program implies by itself: delays, weight versions, microbatches in flight and
// traffic, derived from its instructions. No formula of any method is used here; tests have these
// as expected values.
//
// Versions are those that instructions carry, counting from 1: computations carry the one they
// read, updates in compute streams the one they write. A gradient is applied by the next update of
// its stage in its own stream. A stream without updates leaves them to another stream of the device
// at the end of each step; the update with the number of the microbatch's step then applies its
// gradient. A synchronous program of several steps reads version `step` and writes `step + 1`; if
// no update of a stage carries a version, each makes the next one and every computation reads the
// newest. Version v is needed from the update that writes it (version 0: from the start) until its
// last reader or the next update, whichever is later. Waves that write the same version twice hold
// weights of their own, and their needs are added.
#pragma once

#include <vector>

#include "core/program/program.h"

namespace trainyard {

/// The facts of one copy of one stage. Delays count updates of the stage's weights: version(update
/// that applies the gradient) - 1 - version(read), 0 if nothing is stale. Maxima are over the last
/// step of the program, when the pipeline is fullest.
struct StageFacts {
  StageId stage;
  DeviceId device;
  int forward_delay = 0;           // largest, of the version that a forward read
  int backward_delay = 0;          // largest, of the version that a backward read
  int mean_delay_thousandths = 0;  // mean over forwards of the last step
  bool consistent = true;          // every backward read the version that its forward read
  int versions = 1;                // the most weight versions needed at once, including the current
  // The most microbatches between the start of their forward and the end of their last backward, in
  // the order of the device's own work. Lanes of one device may peak at the same time, so their
  // maxima are added.
  int live = 0;
  Bytes sent{};  // activations and gradients to other stages, by one microbatch
};

/// One entry per copy of a stage, ordered by stage, then copy. Works on both grains. Takes time
/// linear in the instructions.
std::vector<StageFacts> facts(const Program&);

/// One forward pass and the age of the weights it read when its gradient was applied.
struct Staleness {
  StageId stage;
  std::int32_t microbatch = 0;
  int delay = 0;           // in updates
  bool consistent = true;  // its backward read the same version
};
/// Every forward whose gradient is applied within the program, ordered by stage, then microbatch.
std::vector<Staleness> staleness(const Program&);

}  // namespace trainyard
