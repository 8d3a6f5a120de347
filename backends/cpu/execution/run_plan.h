// A RunPlan is a program prepared for execution: where each stage's parameters lie in its buffers,
// what each task does, and which devices form groups. It is made once and read by all threads.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "backends/cpu/kernels/sequence_part.h"
#include "backends/cpu/memory/layer_layout.h"
#include "backends/cpu/memory/tensor_part.h"
#include "core/training/training.h"

namespace trainyard {

/// A parameter tensor of one layer of one stage, as one device holds it.
struct PlacedParameter {
  TensorId tensor;
  std::string name;
  std::vector<std::int64_t> whole_shape, local_shape;  // before and after dividing by ranks
  int divided = -1;                           // the dimension that tensor ranks divide; -1 = none
  std::int64_t parts = 1;                     // number of different parts of it
  int divided_by_experts = -1;                // the dimension that expert ranks divide; -1 = none
  std::int64_t expert_parts = 1;              // likewise
  std::int64_t elements = 0;                  // local number
  std::int64_t offset = 0;                    // of its first element among the layer's parameters
  std::int32_t owner_layer = -1, owner = -1;  // parameter whose storage it shares; -1 = own
  // As StatePart::full.at and DividedState::full_at, where its state is another layer's.
  std::int64_t weights_full_at = 0, gradients_full_at = 0;
  bool transposed = false;  // stored as the transpose of what it shares or is tied to
  std::string tied_to;      // "BLOCK/TENSOR" of another stage, with equal initial values
  bool matrix = false;      // weight decay, LARS and LAMB apply to it
  bool partial = false;     // each tensor rank has only a share of the gradient
  bool routed = false;      // of routed experts
  bool frozen = false;      // it has weights and no other state
  bool narrow = false;      // kept or gathered in 8 bits
};

/// One kind of state of a StatePart: weights, gradients or optimizer state.
struct DividedState {
  std::int64_t shards = 1;  // ranks over which it is divided
  std::int64_t share = 0;   // elements that one of them holds, the last one perhaps fewer
  // Where gradients and optimizer state begin (a WeightPlace says it of weights), in
  // elements of the stage, and where gradients that are to be scattered are together in full while
  // a layer runs, in elements of the layer.
  std::int64_t at = 0, full_at = 0;
};

/// Where the weights of a StatePart are. Weights in 8 bits lie behind all others.
struct WeightPlace {
  std::int64_t at = 0;    // bytes from the start of what holds them to their first element
  std::int64_t each = 0;  // bytes of an element
  bool codes() const { return each == 1; }
  template <class Byte>
  Byte* of(Byte* base, std::int64_t index) const {
    return base + at + index * each;
  }
};

/// The parameters of a layer whose state is divided over the same ranks: those of routed experts,
/// and all others, each trained or frozen, in the layout's format or in 8 bits. Of frozen ones
/// there are no gradients and no optimizer state, whose shares are 0.
struct StatePart {
  bool routed = false, frozen = false, narrow = false;
  std::int64_t first = 0, elements = 0;  // among the layer's parameters
  DividedState weights, gradients, optimizer;
  // Weights as a rank keeps them, as they are gathered for a layer, and as they stay gathered.
  WeightPlace held, full, gathered;
  bool stays = false;  // they stay gathered: from forward to backward
  std::int64_t end() const { return first + elements; }
  static std::size_t index(bool routed, bool frozen, bool narrow) {
    return (narrow ? 4 : 0) + (frozen ? 2 : 0) + (routed ? 1 : 0);
  }
};

struct PlacedLayer {
  int layout = 0;       // index into RunPlan::layouts
  int model_layer = 0;  // counted over all blocks
  std::vector<PlacedParameter> parameters;
  std::vector<std::int32_t> of_tensor;  // by tensor of the graph: index into parameters, or -1
  std::int64_t elements = 0;            // of parameters with storage of their own
  std::array<StatePart, 8> parts;       // by StatePart::index(); any may be empty
  // Optimizer state of one rank, in elements: how many, how many of the place lie before them, and
  // how many of the device do where NVMe has them.
  std::int64_t optimizer = 0, optimizer_at = 0, in_file = 0;
  std::size_t on_nvme = 0;  // its number among the layers of the device whose state NVMe has
  const StatePart& part_of(const PlacedParameter& p) const {
    return parts[StatePart::index(p.routed, p.frozen, p.narrow)];
  }
};

/// One copy of one stage.
struct StagePlacement {
  StageId stage;
  DeviceId device;
  std::vector<PlacedLayer> layers;
  std::int64_t weights = 0, gradients = 0, optimizer = 0;  // number of elements on one rank
  std::int64_t gathered = 0;                               // number of elements over all ranks
  std::int64_t codes = 0, gathered_codes = 0;  // likewise of weights in 8 bits, which are not among
                                               // the others
  std::int32_t before = -1, after = -1;        // the neighbouring stages' places on this device
  bool own_waves = false;                      // whether each wave updates with its own gradients
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
  int ulysses = 1;  // neighbours of cp that divide the heads of attention
  bool contexts_side_by_side = true, experts_side_by_side = true;
  bool whole_experts = false;  // on each tensor rank, which are then among those that divide them
  int count() const { return tp * dp; }
  int tensor_rank(int peer) const { return peer % tp; }
  int data_rank(int peer) const { return peer / tp; }
  int replicas() const { return dp / cp; }
  int context_rank(int peer) const {
    return contexts_side_by_side ? data_rank(peer) % cp : data_rank(peer) / replicas();
  }
  int ring() const { return cp / ulysses; }
  int ring_rank(int peer) const { return context_rank(peer) / ulysses; }
  int heads_rank(int peer) const { return context_rank(peer) % ulysses; }
  int replica(int peer) const {
    return contexts_side_by_side ? data_rank(peer) / cp : data_rank(peer) % replicas();
  }
  /// Experts are divided over ep of these ranks, and so often replicated.
  int expert_pool() const { return whole_experts ? count() : dp; }
  int pool_rank(int peer) const { return whole_experts ? peer : data_rank(peer); }
  int expert_replicas() const { return expert_pool() / ep; }
  int expert_rank(int peer) const {
    return experts_side_by_side ? pool_rank(peer) % ep : pool_rank(peer) / expert_replicas();
  }
  int expert_replica(int peer) const {
    return experts_side_by_side ? pool_rank(peer) / ep : pool_rank(peer) % expert_replicas();
  }
  /// Returns which of the ranks that divide a part's state a peer is. Experts are divided over all
  /// ranks that hold the same ones, others over `shards` neighbouring data ranks.
  std::int64_t shard_rank(bool routed, std::int64_t shards, int peer) const {
    return (routed ? expert_replica(peer) : data_rank(peer)) % shards;
  }
  /// The index of the part of the parameter that a peer holds.
  std::int64_t part_of(const PlacedParameter& p, int peer) const {
    return (p.expert_parts > 1 ? expert_rank(peer) * p.parts : 0) +
           part_of_rank(p.parts, tensor_rank(peer), tp);
  }
};

/// Returns what those peers hold whose Peers::part_of() is this part.
inline TensorPart tensor_part(const PlacedParameter& p, std::int64_t part) {
  return {p.whole_shape,
          p.local_shape,
          {DimensionPart{p.divided, part % p.parts},
           DimensionPart{p.divided_by_experts, part / p.parts}}};
}

/// The ranks that divide the sequence of a layer, and a peer's place among them: context ranks, or
/// the tensor ranks of a layer whose weights they do not divide.
struct SequenceRanks {
  int rank = 0, ranks = 1;
  int ulysses = 1;        // neighbours that exchange heads of attention
  bool in_order = false;  // their parts lie one behind the other
  int ring() const { return ranks / ulysses; }
  int heads_rank() const { return rank % ulysses; }
  SequencePart part() const { return {rank, ranks, in_order}; }
  /// The tokens of all ranks with which the peer has exchanged heads, which are two stretches
  /// again.
  SequencePart ring_part() const { return {rank / ulysses, ring(), in_order}; }
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
  // Where NVMe has optimizer state: by device, the buffers through which it passes.
  std::vector<StateBuffers> state_buffers;
  std::vector<Bytes> nvme;  // by device: held there; else empty

  std::size_t place_of(StageId, DeviceId, std::int16_t wave) const;
  DeviceId device_of(InstructionId id) const { return {devices_[id.value]}; }
  /// The index within its stage of a layer of the model.
  std::size_t layer_of(std::int32_t model_layer) const {
    return static_cast<std::size_t>(layer_of_[static_cast<std::size_t>(model_layer)]);
  }
  const std::vector<int>& members(Group, int peer) const;
  SequenceRanks sequence_ranks(const Body&, int peer) const;
  bool last_stage(const StagePlacement& p) const {
    return p.stage.value + 1 == workload.runs.size();
  }

 private:
  void add_places();
  void add_layer(StagePlacement&, const Workload::Run&, int index);
  void add_parts(StagePlacement&, PlacedLayer&, const Body&) const;
  void find_shared();
  void find_state_on_nvme();
  void find_buffers();
  void count_waves();
  void make_groups();

  std::vector<std::int32_t> layer_of_;
  std::vector<std::uint32_t> devices_;  // by instruction
  std::vector<std::vector<int>> alone_, tensor_, context_, context_heads_, context_ring_, data_,
      shard_, replica_, expert_, expert_data_;  // by peer
};

}  // namespace trainyard
