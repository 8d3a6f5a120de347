// StageWork is what a stage does and holds, summed over its layers. Order grain writes it as a few
// instructions; the closed form prices it. Stages with equal layers share one StageWork.
#pragma once

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "core/methods/layers/body.h"
#include "core/methods/memory/offload.h"

namespace trainyard {

/// Collectives of one kind, group and size, one per layer.
struct CollectiveRun {
  CollectiveKind kind = CollectiveKind::AllReduce;
  Group group = Group::Tensor;
  Bytes bytes{};
  int repeats = 1;
  std::string_view method;       // the method that added it
  WorkCount beside{.count = 0};  // as BodyOp::beside
  std::uint32_t kernel = 0;      // index of `beside` in Workload::kernels
  int every = 1;                 // as BodyOp::every
  friend bool operator==(const CollectiveRun&, const CollectiveRun&) = default;
};

/// The work for one microbatch in one phase.
struct PhaseWork {
  std::vector<WorkCount> works;
  std::vector<std::uint32_t> kernels;   // by work: index into Workload::kernels
  std::vector<CollectiveRun> blocking;  // computation waits for them
  // Collectives that overlap with the phase's computation (the ring of keys and values).
  std::vector<CollectiveRun> beside;
  std::vector<CollectiveRun> lead;    // weights of the first layer: computation waits for them
  std::vector<CollectiveRun> gather;  // weights of the other layers, gathered during computation
  bool empty() const {
    return works.empty() && blocking.empty() && beside.empty() && lead.empty() && gather.empty();
  }
};

/// The collectives of one step: of gradients, or of weights after the update. `last` are those of
/// the layer that is ready last (or needed first); the others can overlap with backward (or
/// forward) if `overlapped`.
struct StepCollectives {
  std::vector<CollectiveRun> others, last;
  bool overlapped = false;
};

/// The bytes of one microbatch.
struct PhaseBytes {
  // Kept from forward until backward (of the input, if backward is split).
  Bytes until_input{};
  Bytes stage_tensors{};  // part of until_input: the stage's own tensors that the framework keeps
  // What the weight pass still needs after the input pass; not part of until_input.
  Bytes until_weight{};
  Bytes recomputed{};        // rebuilt during backward, one layer at a time
  Bytes whole_recomputed{};  // the same if both parts of a split backward are one action
  // Under a split backward: the most that is rebuilt and alive during the input pass, which leaves
  // recomputed_for_weight.
  Bytes recomputed_by_input{};
  // Rebuilt and, under a split backward, alive until the weight pass; of all layers.
  Bytes recomputed_for_weight{};
  Bytes forward_workspace{}, backward_workspace{};  // the most that transients hold at once
  // The same if backward is split: both parts in one action, or each in its own. Gradients that
  // weight passes read are not included. They exist from the input pass to the weight pass and
  // appear before all kept tensors are released, so memory rises above its level at the start of
  // the action.
  Bytes whole_workspace{}, input_workspace{}, weight_workspace{};
  Bytes carried{}, whole_rise{}, input_rise{};
  // Says whether the layer that takes the output's gradient has only a weight pass.
  bool takes_late = false;
  // The full weights of a layer (ZeRO 3), and of the next if it is prefetched.
  Bytes gathered{};
  // The full gradients of a layer (ZeRO 2 and 3), and of the previous one if scatters overlap.
  Bytes unreduced{};
  Bytes backward_communication{};         // the sum of both at the layer where it is largest
  Bytes send_forward{}, send_backward{};  // bytes sent to the next stage and to the previous one
};

/// Persistent bytes by block, in order: weights, gradients, optimizer state.
struct StateByBlock {
  StateBytes total;
  std::vector<std::pair<int, StateBytes>> blocks;  // index into Model::blocks
};

inline constexpr std::size_t kGroups = static_cast<std::size_t>(Group::Copies) + 1;
inline constexpr std::size_t kPhases = 4;  // Forward, Backward (both parts), BackwardInput,
                                           // BackwardWeight

/// The bytes that one step exchanges with the host if it keeps the optimizer: of the first layer
/// with parameters in order of data flow, of the last, and of all. All are zero if it does not.
struct HostWork {
  HostShare first, last, all;
  bool overlapped = false;  // gradients leave while backward makes them
  // Equal layers with parameters, in order, where their state is on NVMe; else empty.
  std::vector<std::pair<HostShare, int>> layers;
};

struct StageWork {
  std::array<PhaseWork, kPhases> phases;  // by Phase
  StepCollectives reduce, gather;
  std::vector<WorkCount> update;
  std::vector<WorkCount> averaging;  // an update that takes the mean of the waves' weights too;
                                     // empty if none does
  std::vector<std::uint32_t> update_kernels, averaging_kernels;  // as PhaseWork::kernels
  PhaseBytes bytes;
  StateByBlock state;
  HostWork host;
};

}  // namespace trainyard
