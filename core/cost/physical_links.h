// Links of the physical cost model: what messages and collectives take by the named parameters,
// with the algorithms that libraries of each kind of device run. On devices joined by switches:
// rings through all members, double trees between nodes with chains inside them, pairwise
// exchanges, and reduction in the switch where a level of links has it (NCCL's choices). On tori: a
// ring along each dimension (XLA). On others: the fastest of all (MPI).
#pragma once

#include <array>

#include "core/cost/cost_model.h"
#include "core/cost/parameters.h"

namespace trainyard {

/// Links inside a node of a rate in bytes per second, and the share of it that reductions reach.
struct BusShare {
  double rate = 1, share = 1;
};

/// What the parameters say of a device's links, looked up once.
struct LinkTerms {
  BusShare own;                       // of the device's own links inside a node
  std::array<BusShare, 4> known;      // of NVLink 2 to 5, by rate
  double port = 0, exchange = 0;      // shares that a message between nodes and an all-to-all reach
  double state = 0, activations = 0;  // shares of the network, by what travels
  double inside = 0, across = 0, send = 0;  // seconds before the first byte
  bool rings = false;                       // a library that builds rings and trees over switches

  /// The share that reductions reach of links inside a node. It is a matter of the links and not of
  /// what they join: where a cluster states links of another rate than the device's own, it changes
  /// as from one generation of NVLink to the next, evenly along logarithms between them.
  double bus(BytesPerSecond links) const;
};
LinkTerms link_terms(const Device&, const Parameters&);

/// As CostModel::transfer() and CostModel::collective().
Duration physical_transfer(Bytes, const Cluster&, std::size_t level, const LinkTerms&);
CollectiveTime physical_collective(CollectiveKind, Bytes, const GroupShape&, const Cluster&,
                                   const LinkTerms&);

}  // namespace trainyard
