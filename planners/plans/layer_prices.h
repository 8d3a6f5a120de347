// What one layer of each block of a model costs: the tables that plans of a space share. What a
// layer does for a microbatch hangs on how tensors are divided, on the micro-batch and on what is
// recomputed; what its state weighs and sends hangs on the replicas and how they share it. Neither
// hangs on the pipeline, so a stage is a sum over its layers.
#pragma once

#include <vector>

#include "core/estimate/estimate.h"
#include "core/lowering/held_bytes.h"
#include "planners/plans/fate.h"

namespace trainyard {

/// Layers of one block in a row.
struct BlockRun {
  int block = 0;  // index into Model::blocks
  int count = 1;
  friend bool operator==(const BlockRun&, const BlockRun&) = default;
};
using BlockRuns = std::vector<BlockRun>;

/// The stages of a pipeline of equal or uneven layers; stages of equal layers are of one kind.
struct StageKinds {
  Fate illegal = Fate::Untried;  // Layers when they do not divide
  std::vector<BlockRuns> kinds;
  std::vector<std::uint16_t> kind_of;  // by virtual stage
};
StageKinds stage_kinds(const Scenario&, int pp, int virtual_stages);

/// One phase of one stage for one microbatch, in nanoseconds.
struct PhaseSum {
  std::int64_t compute = 0, blocking = 0, beside = 0;
};

/// What the layers of a stage do for one microbatch, without the traffic of their state.
struct StageWorkSum {
  PhaseSum forward, backward, backward_input, backward_weight;
  PhaseBytes bytes;  // but what its state gathers and reduces
  Bytes further{};   // of the process, beyond the ledger
};

/// What a stage's state weighs and sends.
struct StageStateSum {
  struct Weights {
    std::int64_t blocking = 0, lead = 0, rest = 0;  // ns: waited for, of the first layer, of others
  };
  Weights forward, backward, backward_input, backward_weight;
  Bytes lasting{}, weights{};  // weights, gradients and optimizer state; the weights alone
  Bytes resident{};            // weights in full that stay gathered
  Bytes gathered{}, unreduced{}, backward_communication{}, bucket{};
  std::int64_t reduce = 0, reduce_last = 0;  // ns of a step: all layers, the one ready last
  std::int64_t gather = 0, gather_last = 0;
  bool reduce_overlapped = false, gather_overlapped = false;
  std::int64_t update = 0;
};

/// One layer of each block by what it does. `illegal` is Untried where the scenario is legal.
class WorkPrices {
 public:
  WorkPrices() = default;
  /// Under 1F1B, any split. The scenario is used up and given back, its plan complete.
  WorkPrices(Scenario&, const CostModel&);
  Fate illegal() const { return illegal_; }
  StageWorkSum sum(const BlockRuns&, const CostModel&, const Cluster&) const;

 private:
  struct Layer {
    LayerTime time;
    LayerHeld held;
    Bytes output{}, input{}, further{};
  };
  void read(Workload&, const CostModel&);

  Fate illegal_ = Fate::Untried;
  std::vector<Layer> layers_;  // by block
  std::int64_t send_parts_ = 1;
  int stage_tensors_ = 0;  // of the last layer's output, that the framework keeps
};

/// One layer of each block by its state.
class StatePrices {
 public:
  StatePrices(Scenario, const CostModel&);
  Scenario take_scenario() { return std::move(workload_.scenario); }  // at last
  Fate illegal() const { return illegal_; }
  bool reduces_every_microbatch() const { return reduce_every_; }
  bool blocking_sends() const { return blocking_sends_; }
  StageStateSum sum(const BlockRuns&, const CostModel&) const;

 private:
  Fate illegal_ = Fate::Untried;
  Workload workload_;               // its bodies, by which communication buffers are found
  std::vector<int> body_of_;        // by block
  std::vector<LayerTime> times_;    // by body
  std::vector<StateBytes> states_;  // by body
  bool reduce_every_ = false, blocking_sends_ = false;
};

}  // namespace trainyard
