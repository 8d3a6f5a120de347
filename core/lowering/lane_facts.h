// What an action's place in its lane means for weights and gradients, read off the order once.
#pragma once

#include <vector>

#include "core/lowering/phase_writer.h"

namespace trainyard {

/// By action of the lane. In an order without updates the lane's end updates every stage.
std::vector<Moment> moments(const Lane&, std::size_t stages);

/// By action: at an update, by how many the older weight versions that the lane still needs grow or
/// shrink (the version that the update writes is not counted); 0 elsewhere.
std::vector<int> held_versions(const Lane&, std::size_t stages);

/// What the waves of a device keep beside the one set of weights, gradients and optimizer state
/// that every stage has. Waves that each write the same version have replicas of their own; waves
/// that share weights keep an older version for each wave but one, so that a wave's backward finds
/// what its forward read while the others update.
struct WaveState {
  int replicas = 0;   // more sets of weights and optimizer state
  int stashes = 0;    // older versions of the weights
  int gradients = 0;  // more sets of gradients
};
WaveState wave_state(const Order&, DeviceId);

}  // namespace trainyard
