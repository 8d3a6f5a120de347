// A RunPlan is a program prepared for execution: where each stage's parameters lie in its buffers,
// what each task does, and which devices form groups. It is made once and read by all threads.
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
  std::vector<std::int64_t> whole_shape, local_shape;  // before and after dividing by ranks
  int divided = -1;                                    // the dimension divided; -1 = none
  std::int64_t parts = 1;                              // number of different parts
  std::int64_t elements = 0;                           // local number
  std::int64_t offset = 0;                    // of its first element among the layer's parameters
  std::int32_t owner_layer = -1, owner = -1;  // parameter whose storage it shares; -1 = own
  bool transposed = false;  // stored as the transpose of what it shares or is tied to
  std::string tied_to;      // "BLOCK/TENSOR" of another stage, with equal initial values
  bool matrix = false;      // weight decay, LARS and LAMB apply to it
  bool partial = false;     // each tensor rank has only a share of the gradient
  bool routed = false;      // of routed experts
};

struct PlacedLayer {
  int layout = 0;       // index into RunPlan::layouts
  int model_layer = 0;  // counted over all blocks
  std::vector<PlacedParameter> parameters;
  std::vector<std::int32_t> of_tensor;  // by tensor of the graph: index into parameters, or -1
  std::int64_t elements = 0;            // of parameters with storage of their own
  std::int64_t routed_at = 0;           // the first of those of routed experts, which come last
  // The number of these elements that one rank holds.
  std::int64_t weight_share = 0, gradient_share = 0, optimizer_share = 0;
  // The offset of the layer, in elements of its stage.
  std::int64_t weights_at = 0, gradients_at = 0, optimizer_at = 0;
  std::int64_t gathered_at = 0;  // likewise, where weights stay gathered
};

/// One copy of one stage.
struct StagePlacement {
  StageId stage;
  DeviceId device;
  std::vector<PlacedLayer> layers;
  std::int64_t weights = 0, gradients = 0, optimizer = 0;  // number of elements on one rank
  std::int64_t gathered = 0;                               // number of elements over all ranks
  std::int32_t before = -1, after = -1;  // the neighbouring stages' places on this device
  bool own_waves = false;                // whether each wave updates with its own gradients
  int waves = 1;
  std::vector<BufferId> weight_sets, gradient_sets, optimizer_sets;  // by wave, if each has its own
  std::vector<BufferId> gathered_sets;  // full weights that stay from forward to backward (ZeRO 3)
  std::vector<BufferId> other;  // persistent ones: framework, older versions that are always kept
  std::vector<std::int32_t> reads;   // by weight version: number of instructions that read it
  std::int32_t counting_layer = -1;  // its last weight pass completes a microbatch's gradients
};

/// The index of the part that a tensor rank holds; several ranks may hold the same part.
inline std::int64_t part_of_rank(std::int64_t parts, int rank, int ranks) {
  return rank * parts / ranks;
}

/// The ranks behind each pipeline rank: peer = data rank * tp + tensor rank. Those that divide a
/// sequence or the experts are data ranks, side by side or as far apart as they can be; a replica
/// is all that divide one sequence.
struct Peers {
  int tp = 1, dp = 1, shard = 1, cp = 1, ep = 1;
  bool contexts_side_by_side = true, experts_side_by_side = true;
  int count() const { return tp * dp; }
  int tensor_rank(int peer) const { return peer % tp; }
  int data_rank(int peer) const { return peer / tp; }
  int replicas() const { return dp / cp; }
  int context_rank(int peer) const {
    return contexts_side_by_side ? data_rank(peer) % cp : data_rank(peer) / replicas();
  }
  int replica(int peer) const {
    return contexts_side_by_side ? data_rank(peer) / cp : data_rank(peer) % replicas();
  }
  int expert_rank(int peer) const {
    return experts_side_by_side ? data_rank(peer) % ep : data_rank(peer) / (dp / ep);
  }
  /// The index of the part of the parameter that a peer holds.
  std::int64_t part_of(const PlacedParameter& p, int peer) const {
    return p.routed && ep > 1 ? expert_rank(peer) : part_of_rank(p.parts, tensor_rank(peer), tp);
  }
};

class RunPlan {
 public:
  /// All arguments must outlive it.
  RunPlan(const Workload&, const Program&);

  const Workload& workload;
  const Program& program;
  Peers peers;
  bool asynchronous = false;
  std::vector<LayerLayout> layouts;  // by body
  std::vector<StagePlacement> places;
  Bytes host{};  // the most that the host holds for one device

  std::size_t place_of(StageId, DeviceId, std::int16_t wave) const;
  DeviceId device_of(InstructionId id) const { return {devices_[id.value]}; }
  /// The index within its stage of a layer of the model.
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
  std::vector<std::uint32_t> devices_;  // by instruction
  std::vector<std::vector<int>> alone_, tensor_, context_, data_, shard_, replica_, expert_,
      expert_data_;  // by peer
};

}  // namespace trainyard
