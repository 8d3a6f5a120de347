// A Cluster is a set of devices, equal or of a few kinds, joined by levels of links: within a node,
// between nodes, perhaps between pods. The bandwidth that a group of ranks reaches depends on how
// far apart its members sit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/units.h"
#include "core/cluster/cluster_options.h"
#include "core/cluster/device.h"
#include "core/cluster/device_kind.h"
#include "core/cluster/site.h"
#include "core/cluster/slowness.h"

namespace trainyard {

/// A Level is one step of the hierarchy of links. Level 0 joins the devices of a node.
struct Level {
  std::string name{};     // "node", "network", "pod"
  std::int64_t size = 1;  // most devices that this level joins; a multiple of the size of the level
                          // below
  Sourced<BytesPerSecond> bandwidth{};  // datasheet rate per device and direction, all its links
                                        // together
  Sourced<Duration> latency{};          // one message, one hop
  Topology topology = Topology::Switch;
  double oversubscription = 1.0;  // FatTree: >= 1
  std::vector<int> dimensions{};  // Torus: extents, fastest first; product == size / size of the
                                  // level below. Dragonfly: groups, routers of a group, links of a
                                  // router to other groups. CubeMesh: links of a device, 4 or 6
  bool reduces = false;  // its switches add up the data that passes them (NVLink SHARP, InfiniBand
                         // SHARP)
  Bytes port_buffer{};   // of a switch's port: what overflows it waits for a sender's timer
                         // (core/network/incast.h); 0 = nothing is ever lost
  Bytes port_marks{};    // in the queue of a port, above which it marks packets (DCTCP); 0 = it
                         // marks none
  friend bool operator==(const Level&, const Level&) = default;
};

struct Cluster {
  std::string name;  // canonical: for a cluster made by parse_cluster(), parsing the name again
                     // gives an equal cluster
  Device device;
  std::int64_t count = 1;
  std::vector<Level> levels;  // at least one; the last level's size >= count
  // These two describe a node's host; 0 = not stated (host.h says what is assumed then).
  Sourced<Bytes> host_memory{};
  Sourced<BytesPerSecond> host_bandwidth{};  // of the host's memory
  // These describe a node's NVMe drives together; 0 = not stated (nvme.h says what then holds).
  Sourced<Bytes> nvme{};
  Sourced<BytesPerSecond> nvme_read{}, nvme_write{};
  Site site{};
  // The last devices are of these kinds, in this order, and all before them are as `device`
  // (mixed.h). Their number is part of `count`.
  std::vector<DeviceKind> mixed{};
  Slowness slowness{};  // how unequal its devices are in use
  friend bool operator==(const Cluster&, const Cluster&) = default;
};

/// Traffic says what a group sends. Activations are sent at once and no computation runs beside
/// them; State (weights, gradients, optimizer state) is sent in buckets while devices compute.
enum class Traffic : std::uint8_t { State, Activations };

/// A GroupShape describes ranks that communicate together by where they sit: on how many nodes with
/// `per_node` ranks each, and how many groups of the same kind share each node's links at the same
/// time.
struct GroupShape {
  std::int64_t ranks = 1;
  std::int64_t per_node = 1;    // members in the same node; they drive as many network ports
  std::int64_t neighbours = 1;  // groups of the same kind active in one node, this one included
  std::int64_t stride = 1;      // distance between consecutive ranks, in devices
  Traffic traffic = Traffic::State;
};

inline constexpr std::int64_t kMostDevices = 10'000'000;

/// Returns the devices in a full node, or all devices when the cluster is smaller than a node.
std::int64_t devices_per_node(const Cluster&);
std::int64_t nodes(const Cluster&);
/// Returns the index of the lowest level that joins a group spanning `extent` consecutive devices
/// (first to last, both included) and starting at the start of a node; the top level when no level
/// joins it.
std::size_t level_of(const Cluster&, std::int64_t extent);
/// Returns everything that is wrong with the cluster: sizes that do not nest, zero rates, more
/// devices than the top level joins.
Diagnostics check(const Cluster&);

/// Reads DEVICE:COUNT[,OPTION]... as in "h100-sxm:64", "a100-sxm-80:512,per-node=8,inter=200GB/s";
/// kClusterOptions lists the options. Throws Error{InvalidInput} naming the part, what was expected
/// and the nearest device or option.
Cluster parse_cluster(std::string_view text);
/// The options, one per line, for help texts.
extern const std::string_view kClusterOptions;
/// Makes the default cluster of `count` such devices: its nodes are the device's scale-up domain,
/// its network is the device's ports. Domains above 16 devices are cut to their largest part, at
/// least half, that divides count. Throws Error{InvalidInput} when count is outside 1..kMostDevices
/// or does not fill whole nodes.
Cluster make_cluster(const Device&, std::int64_t count);
/// Makes the same cluster with the options applied. Also throws when the product of the torus
/// extents is not the number of devices (or nodes) that the torus joins.
Cluster make_cluster(const Device&, std::int64_t count, ClusterOptions);

}  // namespace trainyard
