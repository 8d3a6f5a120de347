// A Network is the graph of a cluster's links, and the links that a message between two of its
// devices passes. It is made of the cluster's levels:
//
//   node     switch: a link of each device to the switch and one back; mesh: a direct link between
//            any two; torus: a link to each neighbour along each dimension; cube mesh: the links of
//            a DGX-1, and where two devices have none, those that have links to both forward in
//            equal parts
//   network  a port of each device, out and in. Rail: ports of one index meet in one switch, and a
//            message to another index first crosses its node to the device of that index (NCCL's
//            PXN). Fat tree: nodes are leaves, whose links up are narrower by the oversubscription.
//            Torus: nodes are joined to their neighbours. Dragonfly: equally many ports in turn
//            meet in a router, and messages take a shortest way over at most one link between
//            groups; all links of routers have the rate of a port.
//   above    the links up of each group of the level below
//
// Rates are those of datasheets. In a mixed cluster each device's links and ports, and the links up
// of its node, have the rates of its kind (core/cluster/mixed.h), so that a message between kinds
// has that of the slower end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster/cluster.h"
#include "core/network/dragonfly.h"
#include "core/network/flow_engine.h"

namespace trainyard {

/// NetworkRouting says which of several equally short paths a flow takes. Spread: all of them, in
/// equal parts (adaptive routing, packet spraying). Hashed: one of them by a hash of its job and
/// its ends (ECMP).
enum class NetworkRouting : std::uint8_t { Spread, Hashed };
std::string_view to_string(NetworkRouting);  // "spread", "hashed"

class Network {
 public:
  explicit Network(const Cluster&, NetworkRouting = NetworkRouting::Spread);

  std::size_t links() const { return capacities_.size(); }
  /// In bytes per nanosecond, by link.
  const std::vector<double>& capacities() const { return capacities_; }
  /// Returns the cluster level of which a link is.
  std::size_t level(std::uint32_t link) const;
  std::string name(std::uint32_t link) const;  // "port of device 12, out"

  /// Adds the links from one device to another one to `path`, with the part of the flow that takes
  /// each. `job` is a part of what is hashed.
  void route(std::int64_t from, std::int64_t to, std::uint64_t job,
             std::vector<FlowLink>& path) const;
  /// A tree of switches that add up: the sum is made at a level, by the job's number of trees,
  /// which carry equal parts. Devices of one place in their nodes have the trees of a job in
  /// common.
  struct Trees {
    std::size_t level = 0;
    std::int64_t count = 1;
    std::uint64_t job = 0;  // is a part of what is hashed
  };
  /// Adds the links from a device to the switches that add up, or back.
  void to_switch(std::int64_t device, const Trees&, std::vector<FlowLink>& path) const;
  void from_switch(std::int64_t device, const Trees&, std::vector<FlowLink>& path) const;

 private:
  /// A Section holds links that are alike: `each` links of every device, node or group.
  struct Section {
    std::string what;  // a format for an owner's number and the place of a link at it
    std::size_t level = 0;
    std::uint32_t first = 0;
    std::int64_t each = 1;
    std::int64_t size = 1;  // devices of an owner
  };

  std::size_t add(std::string what, std::size_t level, std::int64_t size, std::int64_t each,
                  double capacity);
  const Section& section_of(std::uint32_t link) const;
  std::uint32_t link(std::size_t section, std::int64_t device, std::int64_t place = 0) const;
  void add_inside();
  void add_between();
  void take_kinds();
  /// Returns a device at the other end of a direct link, and the owner's own for a link to a
  /// switch.
  std::int64_t other_end(std::size_t section, std::int64_t device, std::int64_t place) const;
  void add_cube_mesh(const Level&);
  void add_dragonfly(double port);
  void route_cube_mesh(std::int64_t from, std::int64_t to, std::vector<FlowLink>& path) const;
  void route_dragonfly(std::int64_t from, std::int64_t to, std::uint64_t hash,
                       std::vector<FlowLink>& path) const;
  void route_inside(std::int64_t from, std::int64_t to, std::vector<FlowLink>& path) const;
  void route_torus(std::size_t section, const std::vector<int>& extents, std::int64_t size,
                   std::int64_t from, std::int64_t to, std::vector<FlowLink>& path) const;
  void climb_trees(const std::vector<std::size_t>& sections, std::int64_t device, const Trees&,
                   std::vector<FlowLink>& path) const;
  void climb(std::size_t section, std::int64_t device, std::uint64_t hash,
             std::vector<FlowLink>& path) const;

  Cluster cluster_;
  NetworkRouting routing_;
  std::int64_t node_ = 1;
  std::vector<Section> sections_;
  std::vector<double> capacities_;
  std::size_t inside_ = 0;              // the first section inside the nodes
  std::vector<std::size_t> up_, down_;  // by level: out of the groups of the level below;
                                        // kNoSection
  std::size_t torus_ = 0, ports_ = 0;
  std::size_t routers_ = 0;  // links inside groups of a dragonfly, then those between; kNoSection
  Dragonfly dragonfly_;
};

}  // namespace trainyard
