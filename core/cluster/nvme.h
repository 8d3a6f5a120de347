// This file describes the NVMe drives of a node: how much they hold and how fast they are read and
// written, as a cluster states them or as the maker of a well-known node does.
#pragma once

#include "core/cluster/cluster.h"

namespace trainyard {

/// The drives of one node together. 0 = not stated, in which case the source is empty.
struct Nvme {
  Sourced<Bytes> capacity{};
  // Sustained rates with all devices of the node active; reads and writes at once do not slow each
  // other down.
  Sourced<BytesPerSecond> read{}, write{};
};

/// Returns the cluster's own figures; for each that it does not state, the figure of the node that
/// the device's maker sells with as many devices, if that is published.
Nvme nvme_of(const Cluster&);

/// Returns the time in which a device reads or writes so many bytes while all devices of its node
/// do: each has an equal share of the node's rate. 0 bytes take no time. The rate must be stated.
Duration nvme_read_time(Bytes, const Cluster&);
Duration nvme_write_time(Bytes, const Cluster&);

}  // namespace trainyard
