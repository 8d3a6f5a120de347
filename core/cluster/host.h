// The host of a node as its devices see it: the link to it and the memory behind that link. A
// cluster states what it knows; the rest is assumed by the device's year, and says so.
#pragma once

#include "core/cluster/cluster.h"

namespace trainyard {

/// One device's share.
struct Host {
  Sourced<BytesPerSecond> link;                // per direction, of the datasheet; 0 = none stated
  Sourced<BytesPerSecond> bandwidth;           // of the host's memory, all its devices at work
  double link_share = 1, bandwidth_share = 1;  // that copies and updates reach, (0, 1]
};

/// What the host holds for a plan that offloads.
struct HostMemory {
  Bytes device{};             // for the device that needs most of it
  Bytes node{};               // for all devices of a node, were each to need as much
  Sourced<Bytes> capacity{};  // of a node's host; 0 = not stated
  std::string basis;          // which figures of the host were taken, and from where
};

Host host_of(const Cluster&);

/// Pinned and large, as the copies of a training step are: no start. 0 for no bytes.
Duration host_copy_time(Bytes, const Cluster&);
/// An update that reads and writes so many bytes of host memory, by all cores of the device's
/// share.
Duration host_update_time(Bytes touched, const Cluster&);

}  // namespace trainyard
