// NetworkUse says what the links of a cluster had to do during a step, and which transfers waited
// for which.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/network/network.h"

namespace trainyard {

/// A LinkUse stands for links that all have the same to do.
struct LinkUse {
  std::string example;  // "port of device 12, out"
  std::int64_t links = 1;
  std::size_t level = 0;  // of the cluster
  BytesPerSecond rate{};  // of the datasheet, of one link
  double load = 0;        // share of the step in which it is busy, in [0, 1]
};

/// Transfers of one name that waited for those of another on a link that both took.
struct TransferWait {
  std::string waiting, holding;  // names of tasks
  std::string link;              // an example of the links
  Duration time{};               // of one step, mean over the pipeline ranks
};

struct NetworkUse {
  NetworkRouting routing = NetworkRouting::Spread;
  double tenants = 0;                 // what others send, as a share of a port's rate
  std::int64_t links = 0, flows = 0;  // links that are used; flows of a transfer of each kind
  std::int64_t kinds = 0;             // of flows, by what they share with which others
  Duration step{}, alone{};           // with transfers that share links; each priced by itself
  std::vector<LinkUse> busiest;       // by falling load
  std::vector<TransferWait> waits;    // by falling time
};

}  // namespace trainyard
