// Offload: what of a plan's training state the host keeps, in numbers that lowering, the closed
// form and the ledger of host memory share.
#pragma once

#include "core/methods/layers/body.h"

namespace trainyard {

/// Of one layer, or a sum over layers, on one device: what its optimizer step has with the host.
struct HostShare {
  Bytes gradients{};  // sent down once a step, in the format in which they are reduced
  Bytes weights{};    // sent up once a step, in the format in which the device keeps them
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

/// All zero unless the layout has the host update weights.
HostShare host_share(const Body&, const Layout&);

}  // namespace trainyard
