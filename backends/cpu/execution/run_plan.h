// A RunPlan is a program made ready for execution: where each stage's parameters lie in its
// buffers, what each task does, who shares a group with whom. Made once, read by all threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/cpu/memory/layer_layout.h"
#include "core/training/training.h"

namespace trainyard {

/// A parameter tensor of one layer of one stage, as one device holds it.
struct PlacedParameter {
  TensorId tensor;
  std::string name;
  std::vector<std::int64_t> whole_shape, local_shape;  // before and after dividing by tensor ranks
  int divided = -1;                           // dimension divided by tensor ranks; -1 = none
  std::int64_t parts = 1;                     // into so many different ones
  std::int64_t elements = 0;                  // local
  std::int64_t offset = 0;                    // of its first element in the layer's parameters
  std::int32_t owner_layer = -1, owner = -1;  // whose storage it shares, in this stage; -1 = its
                                              // own
  bool transposed = false;                    // as [columns, rows] of what it shares or is tied to
  std::string tied_to;   // "BLOCK/TENSOR" of another stage: the same initial values
  bool matrix = false;   // decays, and LARS and LAMB adapt it
  bool partial = false;  // each tensor rank has only its own share of the gradient
};

struct PlacedLayer {
  int layout = 0;       // index into RunPlan::layouts
  int model_layer = 0;  // counted over all blocks
  std::vector<PlacedParameter> parameters;
  std::vector<std::int32_t> of_tensor;  // by tensor of the graph: index into parameters, or -1
  std::int64_t elements = 0;            // of parameters with storage of their own
  std::int64_t weight_share = 0, gradient_share = 0, optimizer_share = 0;  // of them, what one rank
                                                                           // holds
  std::int64_t weights_at = 0, gradients_at = 0, optimizer_at = 0;  // of the layer's first element,
                                                                    // in elements of its stage
};

/// One copy of one stage.
struct StagePlacement {
  StageId stage;
  DeviceId device;
  std::vector<PlacedLayer> layers;
  std::int64_t weights = 0, gradients = 0, optimizer = 0;  // elements that one rank holds
  std::int32_t before = -1, after = -1;  // the neighbouring stages' places on the same device
  bool own_waves = false;                // each wave updates with its own gradients
  int waves = 1;
  std::vector<BufferId> weight_sets, gradient_sets, optimizer_sets;  // by wave where it has its own
  std::vector<BufferId> other;       // persistent: framework, older versions kept all along
  std::vector<std::int32_t> reads;   // by weight version: instructions that read it
  std::int32_t counting_layer = -1;  // its last weight pass ends a microbatch's gradients
};

/// Which of the parameter's parts a tensor rank holds: several may hold the same.
inline std::int64_t part_of_rank(std::int64_t parts, int rank, int ranks) {
  return rank * parts / ranks;
}

/// Ranks behind each pipeline rank: peer = data rank * tp + tensor rank.
struct Peers {
  int tp = 1, dp = 1, shard = 1;
  int count() const { return tp * dp; }
  int tensor_rank(int peer) const { return peer % tp; }
  int data_rank(int peer) const { return peer / tp; }
};

class RunPlan {
 public:
  /// All of them must outlive it.
  RunPlan(const Workload&, const Program&);

  const Workload& workload;
  const Program& program;
  Peers peers;
  bool asynchronous = false;
  std::vector<LayerLayout> layouts;  // by body
  std::vector<StagePlacement> places;

  std::size_t place_of(StageId, DeviceId, std::int16_t wave) const;
  DeviceId device_of(InstructionId id) const { return {devices_[id.value]}; }
  /// Which layer of its stage a layer of the model is.
  std::size_t layer_of(std::int32_t model_layer) const {
    return static_cast<std::size_t>(layer_of_[static_cast<std::size_t>(model_layer)]);
  }
  const std::vector<int>& members(Group, int peer) const;
  bool last_stage(const StagePlacement& p) const {
    return p.stage.value + 1 == workload.runs.size();
  }

 private:
  void add_places();
  void add_layer(StagePlacement&, const Workload::Run&, int index);
  void find_shared();
  void find_buffers();
  void count_waves();
  void make_groups();

  std::vector<std::int32_t> layer_of_;
  std::vector<std::uint32_t> devices_;                                     // by instruction
  std::vector<std::vector<int>> alone_, tensor_, data_, shard_, replica_;  // by peer
};

}  // namespace trainyard
