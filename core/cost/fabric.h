// What the members of a group see of a cluster's links: how many of them talk over each level, at
// what rate, with what wiring. Algorithms (alpha_beta.h) are priced on it.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "core/cluster/cluster.h"
#include "core/cost/alpha_beta.h"

namespace trainyard {

/// Of the links' datasheet rates, (0, 1].
struct LinkShares {
  double scale_up = 1, network = 1, all_to_all = 1;
};
inline LinkShares link_shares(const Efficiency& e) {
  return {e.scale_up.value, e.network.value, e.all_to_all.value};
}

/// One level of links as `ranks` members of a group see it.
struct Fabric {
  std::int64_t ranks = 1;
  Topology topology = Topology::Switch;
  LinkCost reduce;                               // what reductions and gathers reach
  LinkCost exchange;                             // what all-to-alls reach
  std::array<std::int64_t, 3> extents{1, 1, 1};  // Torus: ranks along each dimension
  bool pairs = true;     // whether any two may talk at full rate, as recursive algorithms do
  bool reduces = false;  // its switches add up what passes them

  bool recursive() const { return pairs && std::has_single_bit(static_cast<std::uint64_t>(ranks)); }
};
/// Members `stride` devices apart. With `latency` false messages start at once.
Fabric see(const Level&, std::int64_t ranks, std::int64_t stride, const LinkShares&, bool latency);

/// A group with members in several nodes.
struct Spanning {
  Fabric inner;  // the members of one node
  Fabric outer;  // one member of each node
  Fabric flat;   // all members in one ring or tree, each node's ports used together
};
Spanning see_spanning(const GroupShape&, const Cluster&, const LinkShares&, bool latency);
/// The level of links that a group of several nodes needs.
std::size_t spanned_level(const GroupShape&, const Cluster&);

/// The share of a level's rate that one pair of devices has when nobody else sends.
double pair_share(const Level&);

}  // namespace trainyard
