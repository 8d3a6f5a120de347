// This file says what makes up the peak: the tensors and states that are alive where a device holds
// the most memory.
#pragma once

#include "core/result/experiment.h"

namespace trainyard {

/// Returns a device's memory at one instant, largest part first; the parts sum to what its wave
/// shows there. Tensors are summed over layers and microbatches, states over layers. Parts smaller
/// than a hundredth of the whole are joined into one last part.
std::vector<PeakPart> parts_alive_at(const Workload&, const Program&, const Timeline&, DeviceId,
                                     Instant);

/// Returns the activations alive on the device then, in microbatches of a whole device (chunks
/// count as their share), rounded up.
int microbatches_alive(const Program&, const Timeline&, DeviceId, Instant);

/// Doing is what the device was doing: "forward of microbatch 3", "weight update"; the stage is the
/// instruction's.
struct Doing {
  std::string phase;
  StageId stage;
};
Doing doing_at(const Program&, const Timeline&, DeviceId, Instant);

}  // namespace trainyard
