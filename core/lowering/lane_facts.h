// Lane facts say what an action's position in its lane means for weights and gradients; they are
// derived from the order once.
#pragma once

#include <vector>

#include "core/lowering/phase_writer.h"

namespace trainyard {

/// The moments by action of the lane, without `others`. In an order without updates every stage is
/// updated when all lanes have ended, and lanes that share a device add up in one gradient, which
/// the last of them completes.
std::vector<Moment> moments(const Order&, std::size_t lane, std::size_t stages);

/// By action: at an update, the change of the number of older weight versions that the lane still
/// needs (the version that the update writes does not count); 0 elsewhere.
std::vector<int> held_versions(const Lane&, std::size_t stages);

/// What the waves of a device keep besides the one set of weights, gradients and optimizer state
/// that every stage has. Waves that each write the same version have replicas of their own. Waves
/// that share weights keep an older version for each wave but one, so that a wave's backward finds
/// what its forward read while the others update.
struct WaveState {
  int replicas = 0;   // additional sets of weights and optimizer state
  int stashes = 0;    // older versions of the weights
  int gradients = 0;  // additional sets of gradients
};
WaveState wave_state(const Order&, DeviceId);

}  // namespace trainyard
