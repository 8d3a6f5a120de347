// A Cluster is equal devices joined by levels of links: within a node, between nodes, perhaps between pods. What a
// group of ranks can reach is decided by how far apart its members sit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/units.h"
#include "core/cluster/device.h"

namespace trainyard {

enum class Topology : std::uint8_t {
  Switch,   // every pair at full rate (NVSwitch, a non-blocking leaf)
  Mesh,     // direct links to every other member, each a part of the rate
  Rail,     // device i of a node reaches device i of every other node through switch i
  FatTree,  // leaf and spine; oversubscription divides what leaves a leaf
  Torus,    // rings along each dimension
};

/// One step of the hierarchy. Level 0 joins the devices of a node.
struct Level {
  std::string name;                   // "node", "network", "pod"
  std::int64_t size = 1;              // devices joined by this level, a multiple of the level below's size
  Sourced<BytesPerSecond> bandwidth;  // per device and direction
  Sourced<Duration> latency;          // one message, one hop
  Topology topology = Topology::Switch;
  double oversubscription = 1.0;      // FatTree: >= 1
  std::vector<int> dimensions;        // Torus: extents, product == size / size of the level below
};

struct Cluster {
  std::string name;      // "h100-sxm:64"
  Device device;
  std::int64_t count = 1;
  std::vector<Level> levels;  // at least one; the last level's size >= count
};

/// Ranks that communicate together, by how they sit: `nodes` nodes with `per_node` of them each (ranks = product), and
/// how many other such groups share each node's links at the same time.
struct GroupShape {
  std::int64_t ranks = 1;
  std::int64_t per_node = 1;       // members in the same node
  std::int64_t neighbours = 1;     // groups of the same kind active in one node, this one included
  std::int64_t stride = 1;         // distance between consecutive ranks, in devices
};

std::int64_t devices_per_node(const Cluster&);
std::int64_t nodes(const Cluster&);
/// Index of the lowest level that joins two devices `distance` apart whose group spans `extent` consecutive devices.
std::size_t level_of(const Cluster&, std::int64_t extent);
/// Everything wrong with it: sizes that do not nest, zero rates, more devices than the top level joins.
Diagnostics check(const Cluster&);

/// "h100-sxm:64", "a100-sxm-80:512,per-node=8,inter=200GB/s,intra=...,latency=...,rail,oversubscription=2,torus=16x16".
/// Throws Error{InvalidInput} naming the part, what was expected and the nearest device or option.
Cluster parse_cluster(std::string_view text);
/// The default cluster of `count` such devices: node of its scale-up domain, network of its NIC.
Cluster make_cluster(const Device&, std::int64_t count);

}  // namespace trainyard
