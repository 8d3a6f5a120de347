// Layer prices are the costs of one layer of each block of a model: tables that the plans of a
// space share. The work of a layer for a microbatch depends on how tensors are divided, on the
// micro-batch and on what is recomputed. The size and traffic of its state depend on the replicas
// and how they shard it. Neither depends on the pipeline, so a stage is a sum over its layers.
#pragma once

#include <vector>

#include "core/estimate/estimate.h"
#include "core/lowering/held_bytes.h"
#include "planners/plans/fate.h"

namespace trainyard {

/// Consecutive layers of one block.
struct BlockRun {
  int block = 0;  // index into Model::blocks
  int count = 1;
  friend bool operator==(const BlockRun&, const BlockRun&) = default;
};
using BlockRuns = std::vector<BlockRun>;

/// The stages of a pipeline whose layers are split evenly or unevenly; stages with equal layers are
/// of one kind.
struct StageKinds {
  Fate illegal = Fate::Untried;  // Layers if they do not divide into the stages
  std::vector<BlockRuns> kinds;
  std::vector<std::uint16_t> kind_of;  // by virtual stage
  bool forward_only = false;           // the first stage has frozen layers alone, and no backward
};
StageKinds stage_kinds(const Scenario&, int pp, int virtual_stages);

/// The time of one phase of one stage for one microbatch, in nanoseconds: computation,
/// communication that blocks it, and communication that overlaps it.
struct PhaseSum {
  std::int64_t compute = 0, blocking = 0, beside = 0;
};

/// The work of a stage's layers for one microbatch, without the traffic of their state.
struct StageWorkSum {
  PhaseSum forward, backward, backward_input, backward_weight;
  PhaseBytes bytes;  // all except the bytes that its state gathers and reduces
  Bytes further{};   // memory of the process that the ledger does not list
};

/// The size and the traffic of a stage's state.
struct StageStateSum {
  struct Weights {
    // Nanoseconds: gathers that block, gathers of the first layer, gathers of the other layers.
    std::int64_t blocking = 0, lead = 0, rest = 0;
  };
  Weights forward, backward, backward_input, backward_weight;
  // Weights, gradients and optimizer state together; the weights alone.
  Bytes lasting{}, weights{};
  Bytes resident{};  // full weights that stay gathered
  Bytes gathered{}, unreduced{}, backward_communication{}, bucket{};
  std::int64_t reduce = 0, reduce_last = 0;  // ns per step: all layers; the last one ready
  std::int64_t gather = 0, gather_last = 0;
  bool reduce_overlapped = false, gather_overlapped = false;
  std::int64_t update = 0;
};

/// The work of one layer of each block. `illegal` is Untried if the scenario is legal.
class WorkPrices {
 public:
  WorkPrices() = default;
  /// Prices the layers under 1F1B, with any split. The scenario is moved from and given back with
  /// its plan completed.
  WorkPrices(Scenario&, const CostModel&);
  Fate illegal() const { return illegal_; }
  StageWorkSum sum(const BlockRuns&, const CostModel&, const Cluster&) const;

 private:
  struct Layer {
    LayerTime time;
    LayerHeld held;
    Bytes output{}, sent_forward{}, sent_backward{}, further{};
  };
  void read(Workload&, const CostModel&);

  Fate illegal_ = Fate::Untried;
  std::vector<Layer> layers_;  // by block
  std::int64_t send_parts_ = 1;
  int stage_tensors_ = 0;  // copies of the last layer's output that the framework keeps
};

/// The state of one layer of each block.
class StatePrices {
 public:
  StatePrices(Scenario, const CostModel&);
  Scenario take_scenario() { return std::move(workload_.scenario); }  // call last
  Fate illegal() const { return illegal_; }
  bool reduces_every_microbatch() const { return reduce_every_; }
  bool blocking_sends() const { return blocking_sends_; }
  StageStateSum sum(const BlockRuns&, const CostModel&) const;

 private:
  Fate illegal_ = Fate::Untried;
  Workload workload_;               // its bodies determine the communication buffers
  std::vector<int> body_of_;        // by block
  std::vector<LayerTime> times_;    // by body
  std::vector<StateBytes> states_;  // by body
  bool reduce_every_ = false, blocking_sends_ = false;
};

}  // namespace trainyard
