// This file prices messages and collectives in the physical cost model by its named parameters,
// with the algorithms that the libraries of each kind of device use. On devices joined by switches
// these are NCCL's choices: rings through all members, double trees between nodes with chains
// inside them, pairwise exchanges, and reduction in the switch where a level of links supports it.
// On tori it is a ring along each dimension (XLA). On other devices it is the fastest of all (MPI).
#pragma once

#include <array>

#include "core/cost/cost_model.h"
#include "core/cost/parameters.h"

namespace trainyard {

/// BusShare is a rate of links inside a node in bytes per second, and the share of it that
/// reductions reach.
struct BusShare {
  double rate = 1, share = 1;
};

/// LinkTerms are what the parameters say of a device's links, looked up once.
struct LinkTerms {
  BusShare own;                       // for the device's own links inside a node
  std::array<BusShare, 4> known;      // for NVLink 2 to 5, ordered by rate
  double port = 0, exchange = 0;      // shares of the rate for a message between nodes and for an
                                      // all-to-all
  double state = 0, activations = 0;  // shares of the network's rate, by kind of traffic
  double inside = 0, across = 0, send = 0;  // seconds before the first byte
  bool rings = false;  // whether a library builds rings and trees over switches

  /// Returns the share of the rate that reductions reach on links inside a node. It depends on the
  /// links and not on the devices that they join: where a cluster states links of another rate than
  /// the device's own, the share changes as it does between generations of NVLink, interpolated
  /// over the logarithm of the rate.
  double bus(BytesPerSecond links) const;
};
LinkTerms link_terms(const Device&, const Parameters&);

/// These two implement CostModel::transfer() and CostModel::collective().
Duration physical_transfer(Bytes, const Cluster&, std::size_t level, const LinkTerms&);
CollectiveTime physical_collective(CollectiveKind, Bytes, const GroupShape&, const Cluster&,
                                   const LinkTerms&);

}  // namespace trainyard
