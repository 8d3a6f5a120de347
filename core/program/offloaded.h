// Says which microbatches' activations leave a device that offloads them. This is derived from the
// order, so that lowering, the closed form and host memory agree. Also says what the copies of a
// program between a device and its host carry.
#pragma once

#include <cstdint>
#include <vector>

#include "core/program/program.h"

namespace trainyard {

/// The number of copies in one direction for which a device reserves memory besides its work: a
/// forward waits for the copy down of the forward that many before it.
inline constexpr std::size_t kHostBuffers = 2;
/// The least number of forwards of the lane between a microbatch's forward and its backward;
/// activations that would come back sooner stay.
inline constexpr int kLeastBetween = 3;

/// By action of the lane: forwards whose activations leave, and backwards whose activations return.
std::vector<bool> offloaded(const Lane&);
/// By stage: the most microbatches that wait on the host at once.
std::vector<int> most_offloaded(const Lane&, std::size_t stages);

/// The contents of a HostCopy. Activations and gradients go down to the host, activations and
/// weights come up.
enum class HostCargo : std::uint8_t { ActivationsDown, ActivationsUp, Gradients, Weights };
HostCargo host_cargo(const Task&);
inline bool goes_up(HostCargo cargo) {
  return cargo == HostCargo::ActivationsUp || cargo == HostCargo::Weights;
}

}  // namespace trainyard
