// A Cluster is equal devices joined by levels of links: within a node, between nodes, perhaps
// between pods. What a group of ranks can reach is decided by how far apart its members sit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/units.h"
#include "core/cluster/cluster_options.h"
#include "core/cluster/device.h"

namespace trainyard {

/// One step of the hierarchy. Level 0 joins the devices of a node.
struct Level {
  std::string name{};     // "node", "network", "pod"
  std::int64_t size = 1;  // most devices joined by this level, a multiple of the level below's size
  Sourced<BytesPerSecond> bandwidth{};  // datasheet rate per device and direction, all its links
                                        // together
  Sourced<Duration> latency{};          // one message, one hop
  Topology topology = Topology::Switch;
  double oversubscription = 1.0;  // FatTree: >= 1
  std::vector<int> dimensions{};  // Torus: extents, fastest first; product == size / size of the
                                  // level below
  bool reduces = false;  // its switches add up what passes them (NVLink SHARP, InfiniBand SHARP)
  friend bool operator==(const Level&, const Level&) = default;
};

struct Cluster {
  std::string name;  // canonical: parse_cluster(name) gives an equal cluster back when it came from
                     // there
  Device device;
  std::int64_t count = 1;
  std::vector<Level> levels;  // at least one; the last level's size >= count
  // Of a node's host; 0 = not stated (see host.h for what is assumed instead).
  Sourced<Bytes> host_memory{};
  Sourced<BytesPerSecond> host_bandwidth{};  // of its memory
  friend bool operator==(const Cluster&, const Cluster&) = default;
};

/// What a group talks about. Activations wait for nobody and nobody computes beside them; state
/// (weights, gradients, optimizer) travels in buckets while devices compute.
enum class Traffic : std::uint8_t { State, Activations };

/// Ranks that communicate together, by how they sit: `nodes` nodes with `per_node` of them each
/// (ranks = product), and how many other such groups share each node's links at the same time.
struct GroupShape {
  std::int64_t ranks = 1;
  std::int64_t per_node = 1;    // members in the same node; they drive as many network ports
  std::int64_t neighbours = 1;  // groups of the same kind active in one node, this one included
  std::int64_t stride = 1;      // distance between consecutive ranks, in devices
  Traffic traffic = Traffic::State;
};

inline constexpr std::int64_t kMostDevices = 10'000'000;

/// Devices in a full node; all of them when the cluster is smaller than a node.
std::int64_t devices_per_node(const Cluster&);
std::int64_t nodes(const Cluster&);
/// Index of the lowest level that joins a group spanning `extent` consecutive devices (first to
/// last, both included) that starts where a node starts; the top level when none does.
std::size_t level_of(const Cluster&, std::int64_t extent);
/// Everything wrong with it: sizes that do not nest, zero rates, more devices than the top level
/// joins.
Diagnostics check(const Cluster&);

/// Reads DEVICE:COUNT[,OPTION]... as in "h100-sxm:64", "a100-sxm-80:512,per-node=8,inter=200GB/s";
/// kClusterOptions lists the options. Throws Error{InvalidInput} naming the part, what was expected
/// and the nearest device or option.
Cluster parse_cluster(std::string_view text);
/// The options, one a line, for help texts.
extern const std::string_view kClusterOptions;
/// The default cluster of `count` such devices: node of its scale-up domain, network of its ports.
/// Domains above 16 devices are cut to their largest part, at least half, that divides count.
/// Throws Error{InvalidInput} when count is out of 1..kMostDevices or does not fill whole nodes.
Cluster make_cluster(const Device&, std::int64_t count);
/// The same with what the options change. Throws too when torus extents do not multiply to what
/// they join.
Cluster make_cluster(const Device&, std::int64_t count, ClusterOptions);

}  // namespace trainyard
