// The simulator: streams work through their instructions in order; an instruction starts when its
// predecessor, all it waits for and its peer are there, and then takes its share of the device or
// link (backends/shared_resource.h).
#pragma once

#include "backends/backend.h"
#include "backends/simulator/network_traffic.h"
#include "core/cost/cost_model.h"
#include "core/network/network_use.h"
#include "core/result/experiment.h"

namespace trainyard {

/// Prices every task of the program once. The computation of a pipeline rank takes so many times as
/// long as `slower` says (core/methods/parallel/waiting_devices.h), where it is not empty; a task
/// of several ranks is as slow as the slowest of them.
TaskPrices price(const Program&, const Mesh&, const Cluster&, const CostModel&,
                 const std::vector<double>& slower = {});

/// The event loop over priced tasks. Events at one instant are taken by stream, then position, so
/// that two runs are the same run. Throws as Backend::run.
Timeline simulate(const Program&, const TaskPrices&, const RunOptions& = {});

struct NetworkRun {
  Timeline timeline;
  NetworkUse use;
};
/// Simulates in the same loop, but transfers between devices are flows that share the links of a
/// network. A message that is hidden beside its own product is not sent here, as its price has only
/// the rest. NetworkUse::alone and routing stay empty.
NetworkRun simulate(const Program&, const TaskPrices&, const NetworkTraffic&,
                    const RunOptions& = {});

class Simulator final : public Backend {
 public:
  /// Whatever verify() finds wrong with the program.
  static Diagnostics check(const BackendJob&);
  explicit Simulator(const BackendJob& job) : job_(job) {}

  std::string_view name() const override { return "simulator"; }
  /// Answers with the timeline and the memory of every device.
  BackendRun run(const RunOptions& = {}) override;

 private:
  BackendJob job_;
};

}  // namespace trainyard
