// RunningTransfers are the transfers of a simulation that are under way: they begin when the event
// loop says so, move over the network phase by phase, and say when they have arrived.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "backends/simulator/network_traffic.h"
#include "core/network/flow_engine.h"
#include "core/network/load_bins.h"
#include "core/network/network_use.h"

namespace trainyard {

class RunningTransfers {
 public:
  /// Both must outlive this.
  RunningTransfers(const Program&, const NetworkTraffic&);
  RunningTransfers(const RunningTransfers&) = delete;
  RunningTransfers& operator=(const RunningTransfers&) = delete;

  bool sends(std::uint32_t instruction) const { return traffic_.phases(instruction) != nullptr; }
  /// It moves at that share of its rate until pace() says otherwise.
  void start(std::uint32_t instruction, double pace, Instant now);
  /// Sets the pace of all that a pipeline rank has begun.
  void pace(std::uint32_t rank, double share, Instant now);
  /// Returns when the next of them may have arrived, rounded up to whole nanoseconds.
  std::optional<Instant> next();
  /// Moves everything on until then and returns the instructions that have arrived, by rising id.
  std::vector<std::uint32_t> arrive(Instant now);

  /// Returns the use of the network in a step that took so long. NetworkUse::alone and routing
  /// stay empty, as NetworkTraffic does not know them.
  NetworkUse use(Duration step);

 private:
  using Held = std::pair<std::uint32_t, std::uint32_t>;  // name of a task, class of links
  struct Transfer {
    std::uint32_t instruction = 0, rank = 0, phase = 0, left = 0;
    double pace = 1, since = 0;
    bool waiting = false;
    std::vector<FlowEngine::Id> flows;
    double lost = 0;  // by that of its flows which has lost most
    std::map<Held, double> held;
  };
  struct Moving {
    std::uint32_t instruction = 0, slot = 0, flow_class = 0;
    double lost = 0;
  };

  void begin_phase(Transfer&, double now);
  void begin_flows(Transfer&, double now);
  bool go_on(Transfer&, double now);
  void note(FlowEngine::Id, double since, double until, double moved);
  void keep(std::uint32_t flow_class, bool others, double since, double until, double moved);
  void blame(const Transfer&, double lasted);
  std::uint32_t name_of(std::uint32_t instruction) const;
  std::vector<LinkIncast> incasts() const;
  std::vector<double> loads_of(std::uint32_t link, Duration step) const;
  void own(FlowEngine::Id, const Transfer&, std::uint32_t flow_class);
  Moving& moving(FlowEngine::Id);

  const Program& program_;
  const NetworkTraffic& traffic_;
  FlowEngine engine_;
  LoadBins bins_;
  std::vector<double> of_others_;  // bytes of other jobs by class of links
  std::vector<Transfer> transfers_;
  std::vector<std::uint32_t> free_;
  std::vector<std::vector<std::uint32_t>> by_rank_;  // transfers under way
  std::vector<Moving> moving_;                       // by flow
  double now_ = 0;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, double> waits_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> delays_;  // by name of task, and burst
};

}  // namespace trainyard
