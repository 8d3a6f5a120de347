// A PartitionProblem is a chain of layers and the devices that are to run its stages: the time and
// bytes of each layer, the memory of each device, and the constraints.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/units.h"

namespace trainyard {

/// The times of one microbatch.
struct PassTimes {
  Duration forward{}, backward{};
};

/// One kind of layer; the chain may contain it many times.
struct ChainLayer {
  std::vector<PassTimes> times;  // by device class
  Bytes state{};                 // weights, gradients, optimizer state
  Bytes activations{};           // kept for each live microbatch
  Bytes workspace{};  // needed while the layer runs: a stage needs the largest of its layers'
  Bytes gradients{};  // all-reduced among the devices that share a stage
  Bytes output{};     // sent to the next layer; its gradient, equally large, comes back
};

struct ChainDevice {
  int device_class = 0;  // index into ChainLayer::times
  Bytes memory{};        // for states, activations and workspace
};

/// The time per microbatch of a stage on k devices is the longer of two times: the work of its
/// slowest device divided by k, and the ring all-reduce of its gradients divided by the
/// microbatches between two all-reduces. Messages to the neighbouring stages count as work if sends
/// block; otherwise each link is a resource of its own that carries two messages per microbatch.
struct PartitionProblem {
  std::vector<ChainLayer> kinds;
  std::vector<std::uint32_t> layers;  // the chain in order: indices into kinds
  std::vector<ChainDevice> devices;   // in pipeline order; each gets work
  std::vector<BytesPerSecond> links;  // between neighbours, one fewer than devices; empty = free
  Duration latency{};                 // of a message, if links are not free
  bool blocking_sends = true;
  int microbatches = 1;
  /// live[i] is the number of live microbatches of a stage with i stages behind it; the last entry
  /// holds for all beyond. Empty means that of 1F1B: stages behind + 1, at most all microbatches.
  /// Devices that share a stage divide them among themselves.
  std::vector<int> live;
  int replicas = 1;                   // the most devices that may share a stage
  int accumulated = 1;                // microbatches between two all-reduces; 1 = as in PipeDream
  BytesPerSecond reduce_bandwidth{};  // of each device that shares a stage; 0 = free
  /// Says whether devices may be reordered: up to four devices in any way; more than four only in
  /// groups of equal class and memory that stay adjacent, with at most four such groups. Links keep
  /// their places.
  bool search_order = false;
};

}  // namespace trainyard
