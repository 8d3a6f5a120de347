// This file chooses the algorithm of a collective and computes its time on a cluster's links: the
// fastest of core/cost/collectives/alpha_beta.h that the group's shape and the wiring allow.
#pragma once

#include "core/cluster/cluster.h"
#include "core/cluster/collective.h"
#include "core/cost/collectives/collective_algorithm.h"
#include "core/cost/collectives/fabric.h"

namespace trainyard {

/// Never throws. With `latency` false the latency of messages is zero. All levels above the node
/// count as one, at the rate of the outermost level that the group needs.
CollectiveTime collective_time(CollectiveKind, Bytes, const GroupShape&, const Cluster&,
                               const LinkShares&, bool latency);

}  // namespace trainyard
