// A ReferenceSchedule is a program made ready for execution: its instructions in one order, each
// with its operands looked up. Made once, run many times.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/reference/layer_plan.h"
#include "backends/reference/weights.h"
#include "core/lowering/lower.h"
#include "core/methods/schedules/wave_average.h"

namespace trainyard {

enum class StepKind : std::uint8_t {
  Forward,
  Recompute,
  Backward,
  Update,
  Receive,
  ReduceReplicas,  // gradients over all replicas, or over the groups that hold one shard
  ReduceShards,    // gradients inside each shard group
  ReduceCopies,    // gradients of both copies of a stage
};

struct Step {
  StepKind kind = StepKind::Forward;
  Pass pass = Pass::Forward;
  bool forward_message = false;  // Receive
  bool experts = false;          // ReduceReplicas: of expert parameters, else of dense ones
  std::int16_t wave = 0, weights = 0;
  std::uint32_t place = 0, other = 0;  // other: whose message, or gradients, it takes
  std::int32_t layer = -1;             // of the stage
  NodeId node;
  std::int32_t microbatch = 0;
  InstructionId instruction;
};

/// One copy of one stage.
struct StagePlace {
  StageId stage;
  DeviceId device;
  std::vector<int> plans;         // by layer: index into ReferenceSchedule::plans
  std::vector<int> model_layers;  // by layer
  std::vector<StageParameter> parameters;
  std::vector<std::vector<std::uint32_t>> of_layer;  // by layer: indices of its parameters
  std::vector<std::size_t> tensors;                  // by layer: of its graph
  std::int32_t before = -1, after = -1;  // the neighbouring stages' places on the same device
  bool own_waves = false;                // each wave updates with its own gradients
  int waves = 1;
  // By set of weights, which waves may have one each of, and version: instructions that read it.
  std::vector<std::vector<std::int32_t>> reads = {{}};
  std::size_t set_of(std::int16_t wave) const {
    return reads.size() > 1 ? static_cast<std::size_t>(wave) : 0;
  }
  std::int32_t updated = -1;  // the last step that its host updates
};

struct ReferenceSchedule {
  ReferenceSchedule(const Workload&, const Program&);

  const Workload& workload;
  const Program& program;
  std::vector<LayerPlan> plans;  // by body
  std::vector<StagePlace> places;
  std::vector<Step> steps;
  int replicas = 1, shard = 1;
  WaveAverage average;  // of waves with weights of their own

 private:
  void add_places();
  void add_parameters(StagePlace&);
  void add_step(InstructionId, DeviceId);
  std::size_t place_of(StageId, DeviceId, std::int16_t wave) const;
  std::vector<DeviceId> devices_of_instructions() const;
  void count_waves();
  std::vector<std::int32_t> layer_of_;  // by layer of the model: which of its stage
};

}  // namespace trainyard
