// What makes the crest: the tensors and states that are alive where a device holds the most.
#pragma once

#include "core/result/experiment.h"

namespace trainyard {

/// A device's memory at one instant, largest first; the parts sum to what its wave shows there.
/// Tensors are summed over layers and microbatches, states over layers; what is smaller than a
/// hundredth of the whole is one last part.
std::vector<CrestPart> crest_at(const Workload&, const Program&, const Timeline&, DeviceId,
                                Instant);

/// Activations alive on the device then, in microbatches of a whole device (chunks count as their
/// share), rounded up.
int microbatches_alive(const Program&, const Timeline&, DeviceId, Instant);

/// What the device was doing: "forward of microbatch 3", "weight update"; the stage is the
/// instruction's.
struct Doing {
  std::string phase;
  StageId stage;
};
Doing doing_at(const Program&, const Timeline&, DeviceId, Instant);

}  // namespace trainyard
