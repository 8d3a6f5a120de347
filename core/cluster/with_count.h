// A cluster of the same kind with another number of devices.
#pragma once

#include "core/cluster/cluster.h"

namespace trainyard {

/// Returns whether the name alone gives this cluster, as "h100-sxm:64" does.
bool says_all(const Cluster&);
/// A name that says all about the cluster, as "h100-sxm:64" does, is read anew with the new number;
/// else the levels stay as they are. Throws Error{InvalidInput} where the devices do not fill whole
/// nodes, where the levels do not join so many, or where the topology fixes their number.
Cluster with_count(const Cluster&, std::int64_t devices);

}  // namespace trainyard
