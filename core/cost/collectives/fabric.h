// A Fabric is what the members of a group see of a cluster's links: how many of them communicate
// over a level, at what rate and with what wiring. The algorithms in alpha_beta.h are priced on it.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "core/cluster/cluster.h"
#include "core/cost/collectives/alpha_beta.h"

namespace trainyard {

/// LinkShares are shares of the links' datasheet rates, in (0, 1].
struct LinkShares {
  double scale_up = 1, network = 1, all_to_all = 1;
};
inline LinkShares link_shares(const Efficiency& e) {
  return {e.scale_up.value, e.network.value, e.all_to_all.value};
}

/// A Fabric is one level of links as `ranks` members of a group see it.
struct Fabric {
  std::int64_t ranks = 1;
  Topology topology = Topology::Switch;
  LinkCost reduce;                               // cost that reductions and gathers reach
  LinkCost exchange;                             // cost that all-to-alls reach
  std::array<std::int64_t, 3> extents{1, 1, 1};  // Torus: ranks along each dimension
  bool pairs = true;  // whether any two may communicate at full rate, as recursive algorithms need
  bool reduces = false;  // its switches add up the data that passes them

  bool recursive() const { return pairs && std::has_single_bit(static_cast<std::uint64_t>(ranks)); }
};
/// Members are `stride` devices apart. With `latency` false the latency of messages is zero.
Fabric see(const Level&, std::int64_t ranks, std::int64_t stride, const LinkShares&, bool latency);

/// Spanning describes a group with members in several nodes.
struct Spanning {
  Fabric inner;  // the members of one node
  Fabric outer;  // one member of each node
  Fabric flat;   // all members in one ring or tree, each node's ports used together
};
Spanning see_spanning(const GroupShape&, const Cluster&, const LinkShares&, bool latency);
/// Returns the level of links that a group over several nodes needs.
std::size_t spanned_level(const GroupShape&, const Cluster&);

/// Returns the share of a level's rate that one pair of devices has when no others send.
double pair_share(const Level&);

}  // namespace trainyard
