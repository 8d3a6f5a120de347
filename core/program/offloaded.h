// Which microbatches' activations leave a device that offloads them: read off the order, so that
// lowering, the closed form and the ledger of host memory agree.
#pragma once

#include <vector>

#include "core/program/order.h"

namespace trainyard {

/// Copies one way that a device has room for beside what it works on: a forward waits for the copy
/// down of so many forwards before it.
inline constexpr std::size_t kHostBuffers = 2;
/// Forwards of the lane between a microbatch's forward and its backward, at least: what comes back
/// sooner stays.
inline constexpr int kLeastBetween = 3;

/// By action of the lane: forwards whose activations go, backwards whose activations come.
std::vector<bool> offloaded(const Lane&);
/// Microbatches of each stage that wait with the host at once, at most; by stage.
std::vector<int> most_offloaded(const Lane&, std::size_t stages);

}  // namespace trainyard
