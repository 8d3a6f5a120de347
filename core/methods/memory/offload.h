// This file says how much of a plan's training state the host keeps, for use by lowering, the
// closed form and the accounting of host memory.
#pragma once

#include <algorithm>
#include <optional>

#include "core/methods/layers/body.h"
#include "core/methods/memory/layer_policy.h"

namespace trainyard {

/// HostShare is what the optimizer step of one layer, or of a sum of layers, of one device
/// exchanges with the host.
struct HostShare {
  Bytes gradients{};  // copied to the host once per step, in the format in which they are reduced
  Bytes weights{};    // copied back once per step, in the format in which the device keeps them
  Bytes touched{};    // host memory that the update reads and writes
  // Host memory held: the gradients as they arrive and, unless NVMe has them, moments and 4-byte
  // weights. Buffers through which state passes are not included (state_buffers()).
  Bytes state{};
  // NVMe held, which an update reads once and writes once: moments, and weights as the optimizer
  // updates them.
  Bytes nvme{};
  HostShare& operator+=(const HostShare& more) {
    gradients += more.gradients, weights += more.weights;
    touched += more.touched, state += more.state, nvme += more.nvme;
    return *this;
  }
  HostShare times(int layers) const {
    return {gradients * layers, weights * layers, touched * layers, state * layers, nvme * layers};
  }
  friend bool operator==(const HostShare&, const HostShare&) = default;
};

/// All fields are zero unless the layout lets the host update the weights.
HostShare host_share(const Body&, const Layout&);

/// The bytes of a parameter's state on NVMe.
int nvme_bytes_a_parameter(const Layout&);

/// The parameter that says which layers' activations leave one by one.
inline constexpr std::string_view kOffloadedLayers = "layers";
/// Its value that asks for the fewest layers with which the plan fits; it is answered where a model
/// and a cluster are opened.
inline constexpr std::string_view kFewestLayers = "dynamic";
/// Returns by layer of each stage what leaves of it; nothing where activations stay, or leave by
/// whole stages, or the plan still asks which. Throws as parse_policies() does.
std::optional<RecomputePolicies> offloaded_layers(const Plan&);

/// State that is on NVMe passes through host memory layer by layer: the next layer's is read while
/// one layer is updated and the one before is written. Layer i of a device, counted over its stages
/// in the order in which they update, uses buffer i modulo kStateBuffers.
inline constexpr int kStateBuffers = 3;
/// A device's buffers: how many, each as large as its largest layer's state.
struct StateBuffers {
  int count = 0;
  Bytes each{};
  Bytes all() const { return each * count; }
  /// Adds layers, each with so much state.
  void add(Bytes layer, int layers) {
    count = std::min(kStateBuffers, count + layers);
    each = std::max(each, layer);
  }
};

}  // namespace trainyard
