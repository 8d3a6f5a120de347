// Implements `hardware CLUSTER --collectives`: the time of collectives on a cluster, by size.
#pragma once

#include <string>

#include "core/cluster/cluster.h"

namespace trainyard {

/// A table for each kind of group that plans use: the devices of a node, one device per node, and
/// all devices. There is a row for each kind and size: algorithm, time, algorithm and bus
/// bandwidth, and the level of links that limits it.
std::string collectives_text(const Cluster&);

}  // namespace trainyard
