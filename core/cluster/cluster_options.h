// What the words behind DEVICE:COUNT may change of a device's default cluster.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster/device.h"

namespace trainyard {

/// Unset fields keep the default.
struct ClusterOptions {
  std::optional<std::int64_t> per_node;
  std::optional<BytesPerSecond> intra;  // per device and direction
  std::optional<BytesPerSecond> inter;  // per node and direction
  std::optional<Duration> intra_latency, inter_latency;
  std::optional<Topology> network;  // Rail or FatTree
  std::optional<double> oversubscription;
  std::vector<int> torus;                          // extents; empty = default
  std::optional<bool> intra_reduce, inter_reduce;  // switches that add up what passes them
  std::optional<Bytes> memory;
  std::optional<double> price;                   // US dollars per device hour
  std::optional<Bytes> host_memory;              // of a node's host
  std::optional<BytesPerSecond> host_bandwidth;  // of its memory
};

/// "h100-sxm:64,per-node=4": the shortest text that parse_cluster reads as these options.
std::string canonical_name(const Device&, std::int64_t count, const ClusterOptions&);

}  // namespace trainyard
