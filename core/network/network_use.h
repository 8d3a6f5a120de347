// NetworkUse says what the links of a cluster had to do during a step, when they had to do it, and
// which transfers waited for which.
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
  std::size_t level = 0;               // of the cluster
  BytesPerSecond rate{};               // of the datasheet, of one link
  double load = 0;                     // share of the step in which it is busy, in [0, 1]
  double of_others = 0;                // the part of the load that other jobs are
  std::vector<double> over_time = {};  // loads by NetworkUse::bin, the last one cut by the end of
                                       // the step; empty: not kept
};

/// Transfers of one name that waited for those of another on a link that both took.
struct TransferWait {
  std::string waiting, holding;  // names of tasks
  std::string link;              // an example of the links
  Duration time{};               // of one step, mean over the pipeline ranks
};

/// A LinkIncast is what senders of one name lose at links to receivers whose ports they overflow.
struct LinkIncast {
  std::string name;          // of the transfers' task
  std::string link;          // an example: "port of device 12, in"
  std::int64_t links = 1;    // that are alike
  std::int64_t senders = 0;  // that meet at one
  Bytes block{};             // of each
  double timeouts = 0;       // of one exchange, in the mean
  Duration time{};           // of one step, mean over the pipeline ranks
};

/// The most kinds of links that have loads over time.
inline constexpr std::size_t kTimedLinks = 64;

struct NetworkUse {
  NetworkRouting routing = NetworkRouting::Spread;
  double tenants = 0;                 // what others send, as a share of a port's rate
  std::int64_t links = 0, flows = 0;  // links that are used; flows of a transfer of each kind
  std::int64_t kinds = 0;             // of flows, by what they share with which others
  Duration step{}, alone{};           // with transfers that share links; each priced by itself
  std::vector<LinkUse> busiest;       // by falling load; the first kTimedLinks over time
  Duration bin{};                     // width of the bins of time; 0: no loads over time
  std::vector<TransferWait> waits;    // by falling time
  std::vector<LinkIncast> incasts;    // by falling time
};

}  // namespace trainyard
