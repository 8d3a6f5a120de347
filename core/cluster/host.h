// This file describes the host of a node as its devices see it: the link to the host and the host
// memory behind that link. Figures that a cluster does not state are assumed from the device's
// year, and their source says so.
#pragma once

#include "core/cluster/cluster.h"

namespace trainyard {

/// A Host is one device's share of the host.
struct Host {
  Sourced<BytesPerSecond> link;       // per direction, of the datasheet; 0 = none stated
  Sourced<BytesPerSecond> bandwidth;  // of the host's memory, with all devices of the node active
  double link_share = 1, bandwidth_share = 1;  // shares that copies and updates reach, in (0, 1]
};

/// HostMemory is what the host, and the node's NVMe, hold for a plan that offloads.
struct HostMemory {
  Bytes device{};             // for the device that needs most of it
  Bytes node{};               // for all devices of a node, if each needed as much
  Sourced<Bytes> capacity{};  // of a node's host; 0 = not stated
  // These three say it of the node's NVMe, and are 0 where the plan leaves nothing there.
  Bytes nvme_device{}, nvme_node{};
  Sourced<Bytes> nvme_capacity{};
  std::string basis;  // which figures of host and NVMe were used, and their source
};

Host host_of(const Cluster&);

/// Time of one copy over the host link. Copies of a training step are pinned and large, so no
/// start-up cost is added; 0 bytes take no time.
Duration host_copy_time(Bytes, const Cluster&);
/// Time of an update that reads and writes `touched` bytes of host memory with all cores of the
/// device's share.
Duration host_update_time(Bytes touched, const Cluster&);

}  // namespace trainyard
