// A PartitionProblem is a chain of layers and the devices that are to have its stages: what each
// layer takes and weighs, what each device has, and what is allowed.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/units.h"

namespace trainyard {

/// Of one microbatch.
struct PassTimes {
  Duration forward{}, backward{};
};

/// A kind of layer.
struct ChainLayer {
  std::vector<PassTimes> times;  // by class of device
  Bytes state{};                 // weights, gradients, optimizer state
  Bytes activations{};           // kept of each live microbatch
  Bytes workspace{};             // while it runs: a stage needs the largest of its layers
  Bytes gradients{};             // reduced among the devices of a stage that several share
  Bytes output{};                // handed to the next layer, and as much of its gradient back
};

struct ChainDevice {
  int device_class = 0;  // index into ChainLayer::times
  Bytes memory{};        // for states, activations and workspace
};

/// Time per microbatch of a stage of k devices: the work of its slowest device over k, or its
/// gradients' ring all-reduce over the microbatches between two of them, whichever is longer.
/// Messages to the next stage and the one before are part of the work where they block; else the
/// link is a resource of its own, twice a message per microbatch.
struct PartitionProblem {
  std::vector<ChainLayer> kinds;
  std::vector<std::uint32_t> layers;  // of the chain in order: indices into kinds
  std::vector<ChainDevice> devices;   // in order of the pipeline; each has work
  std::vector<BytesPerSecond> links;  // from device to device, one less than devices; empty = free
  Duration latency{};                 // of a message, where links are not free
  bool blocking_sends = true;
  int microbatches = 1;
  /// Live microbatches of a stage with so many stages behind it; the last number holds for all
  /// beyond. Empty = 1F1B's: stages behind + 1, at most all. Devices that share a stage divide
  /// them.
  std::vector<int> live;
  int replicas = 1;                   // most devices that share a stage
  int accumulated = 1;                // microbatches between two all-reduces; 1 = PipeDream's
  BytesPerSecond reduce_bandwidth{};  // of each device that shares a stage; 0 = free
  /// Devices may change places: up to four of them in any way, more with all of one class and
  /// memory next to each other, of which there may be four kinds. Links stay.
  bool search_order = false;
};

}  // namespace trainyard
