// NetworkTraffic is the transfers of a program as flows over a cluster's network. A collective of a
// pipeline rank stands for those of all its replicas, and all their messages are in it.
//
// A cost model says how long one transfer takes alone, what of it is latency, and what grows with
// its bytes. The latter is the time for which the transfer fills the links of its messages, so that
// alone it takes exactly that long; beside others it takes what max-min fair shares make of it.
//
// In an all-to-all every member sends to all others at once. Where the ports of switches have a
// buffer, the burst that meets at a port is delayed as core/network/incast.h says. Rings and trees
// have one sender to each receiver, or two that take turns, and are not.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/network/flow_classes.h"
#include "core/network/network.h"
#include "core/program/program.h"
#include "core/result/experiment.h"

namespace trainyard {

struct NetworkOptions {
  NetworkRouting routing = NetworkRouting::Spread;
  /// Other jobs send at this share of a port's rate from each device to one of another node, which
  /// the seed chooses; in [0, 1).
  double tenants = 0;
  std::uint64_t seed = 1;
  /// Into how many bins of time, at most, loads of links fall; even; 0: they are not kept.
  std::size_t bins = 0;
  /// Packets that a switch between nodes holds to add them up, where switches do
  /// (core/network/switch_slots.h); negative: endlessly many.
  std::int64_t slots = -1;
  /// Trees of switches of each all-reduce that they add up. They differ in the paths that a hash
  /// chooses, so that they are all alike where `routing` takes all paths. >= 1.
  std::int64_t trees = 1;
};

/// Senders that meet at one port, whose buffer they overflow (core/network/incast.h).
struct TransferBurst {
  std::uint32_t link = 0;  // of the network: the port, of `links` that are alike
  std::int64_t links = 1;
  std::int64_t senders = 0;
  Bytes block{};        // of each sender
  double delay = 0;     // nanoseconds of the transfer, which may be several exchanges
  double timeouts = 0;  // of one exchange, in the mean
};

/// A part of a transfer: a wait, then the flows of a pattern.
struct TransferPhase {
  double wait = 0;  // nanoseconds without the network, with the delay of a burst
  std::uint32_t pattern = 0;
  double alone = 0;                  // nanoseconds of its flows when nothing else is sent
  double scale = 0;                  // of the bytes of the pattern's flows
  std::uint32_t burst = UINT32_MAX;  // index into NetworkTraffic::bursts(); UINT32_MAX: none
};

class NetworkTraffic {
 public:
  /// Throws as group_axes(). The prices are of the program's tasks.
  NetworkTraffic(const Program&, const TaskPrices&, const Mesh&, const Cluster&, const CostModel&,
                 const NetworkOptions& = {});

  /// Returns how an instruction is carried out; nullptr where it is no transfer between devices.
  const std::vector<TransferPhase>* phases(std::uint32_t instruction) const;

  const std::vector<TransferBurst>& bursts() const { return bursts_; }

  const Network& network() const { return network_; }
  const FlowClasses& classes() const { return classes_; }
  std::vector<double> capacities() const;
  /// Returns the rate of a flow of the class, in bytes per nanosecond, when its pattern is alone.
  double rate_alone(std::uint32_t flow_class) const { return rates_[flow_class]; }
  /// The pattern of other jobs' flows, whose bytes are the most that each sends in a nanosecond;
  /// UINT32_MAX where there are none.
  std::uint32_t tenants() const { return tenants_; }
  std::size_t bins() const { return bins_; }

 private:
  Network network_;
  FlowClasses classes_;
  std::vector<double> rates_;
  std::vector<std::vector<TransferPhase>> transfers_;
  std::vector<std::uint32_t> transfer_of_;  // by instruction
  std::vector<TransferBurst> bursts_;
  std::uint32_t tenants_ = UINT32_MAX;
  std::size_t bins_ = 0;
};

}  // namespace trainyard
