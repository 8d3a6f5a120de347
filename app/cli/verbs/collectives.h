// `hardware CLUSTER --collectives`: what collectives take on a cluster, by size.
#pragma once

#include <string>

#include "core/cluster/cluster.h"

namespace trainyard {

/// A table for each kind of group that plans make of it: the devices of a node, one device a node,
/// all of them. Rows by kind and size: algorithm, time, algorithm and bus bandwidth, the level of
/// links that binds.
std::string collectives_text(const Cluster&);

}  // namespace trainyard
