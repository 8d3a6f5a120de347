// ClusterOptions are what the options after DEVICE:COUNT may change of a device's default cluster.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster/device.h"
#include "core/cluster/device_kind.h"
#include "core/cluster/slowness.h"

namespace trainyard {

/// Fields that are not set keep the default.
struct ClusterOptions {
  std::optional<std::int64_t> per_node;
  std::optional<BytesPerSecond> intra;  // per device and direction
  std::optional<BytesPerSecond> inter;  // per node and direction
  std::optional<Duration> intra_latency, inter_latency;
  std::optional<Topology> network;  // Rail or FatTree
  std::optional<double> oversubscription;
  std::vector<int> torus;                          // extents; empty = default
  std::vector<int> dragonfly;                      // groups, routers of each, links of each router
  std::optional<int> cube_mesh;                    // links of each device: 4 or 6
  std::optional<bool> intra_reduce, inter_reduce;  // switches add up the data that passes them
  std::optional<Bytes> memory;
  std::optional<double> price;                   // US dollars per device hour
  std::optional<Bytes> host_memory;              // of a node's host
  std::optional<BytesPerSecond> host_bandwidth;  // of the host's memory
  std::optional<Bytes> nvme;                     // of a node
  std::optional<BytesPerSecond> nvme_read, nvme_write;
  std::optional<double> compression;             // of a device's memory
  std::optional<double> bit_errors;              // of that memory's bits
  std::optional<std::string> region;             // whose electricity it takes
  std::optional<double> overhead;                // of the building (PUE)
  std::vector<DeviceKind> mixed;                 // kinds of the last devices
  std::optional<Bytes> port_buffer, port_marks;  // of the switches' ports, between nodes
  Slowness slowness;                             // how unequal devices are in use
};

/// Returns the shortest text that parse_cluster() reads as these options, for example
/// "h100-sxm:64,per-node=4".
std::string canonical_name(const Device&, std::int64_t count, const ClusterOptions&);

}  // namespace trainyard
