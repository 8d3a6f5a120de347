// This file says how much of a plan's training state the host keeps, for use by lowering, the
// closed form and the accounting of host memory.
#pragma once

#include "core/methods/layers/body.h"

namespace trainyard {

/// HostShare is what the optimizer step of one layer, or of a sum of layers, of one device
/// exchanges with the host.
struct HostShare {
  Bytes gradients{};  // copied to the host once per step, in the format in which they are reduced
  Bytes weights{};    // copied back once per step, in the format in which the device keeps them
  Bytes touched{};    // host memory that the update reads and writes
  Bytes state{};      // host memory held: moments, 4-byte weights, and the gradients as they arrive
  HostShare& operator+=(const HostShare& more) {
    gradients += more.gradients, weights += more.weights;
    touched += more.touched, state += more.state;
    return *this;
  }
  HostShare times(int layers) const {
    return {gradients * layers, weights * layers, touched * layers, state * layers};
  }
  friend bool operator==(const HostShare&, const HostShare&) = default;
};

/// All fields are zero unless the layout lets the host update the weights.
HostShare host_share(const Body&, const Layout&);

}  // namespace trainyard
