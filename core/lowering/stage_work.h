// What a stage does and holds, summed over its layers: order grain writes it as a handful of
// instructions, the closed form prices it. Stages of equal layers share one StageWork.
#pragma once

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "core/methods/layers/body.h"
#include "core/methods/memory/offload.h"

namespace trainyard {

/// Collectives of one kind, group and size, one a layer.
struct CollectiveRun {
  CollectiveKind kind = CollectiveKind::AllReduce;
  Group group = Group::Tensor;
  Bytes bytes{};
  int repeats = 1;
  std::string_view method;       // who wrote it
  WorkCount beside{.count = 0};  // as BodyOp::beside
  std::uint32_t kernel = 0;      // index of its work into Workload::kernels
  friend bool operator==(const CollectiveRun&, const CollectiveRun&) = default;
};

/// For one microbatch in one phase.
struct PhaseWork {
  std::vector<WorkCount> works;
  std::vector<std::uint32_t> kernels;   // by work: index into Workload::kernels
  std::vector<CollectiveRun> blocking;  // computation waits for them
  std::vector<CollectiveRun> beside;    // run beside the phase's computation (ring of keys and
                                        // values)
  std::vector<CollectiveRun> lead;      // weights of the first layer: computation waits for them
  std::vector<CollectiveRun> gather;    // weights of the other layers: gathered beside it
  bool empty() const {
    return works.empty() && blocking.empty() && beside.empty() && lead.empty() && gather.empty();
  }
};

/// Collectives of one step: of gradients, or of weights after the update. Those of the layer that
/// is ready last (or needed first) are `last`; the others can run beside backward (forward) when
/// `overlapped`.
struct StepCollectives {
  std::vector<CollectiveRun> others, last;
  bool overlapped = false;
};

/// Bytes of one microbatch.
struct PhaseBytes {
  Bytes until_input{};    // kept from forward until backward (of the input, under a split backward)
  Bytes stage_tensors{};  // of until_input: what the framework keeps of the stage's own
  Bytes until_weight{};   // of them, what the weight pass still needs; not part of until_input
  Bytes recomputed{};     // rebuilt during backward, one layer at a time
  Bytes whole_recomputed{};     // the same where both parts of a split backward are one action
  Bytes recomputed_by_input{};  // under a split backward: most that is rebuilt and alive during the
                                // input pass, which leaves recomputed_for_weight
  Bytes recomputed_for_weight{};  // rebuilt and, under a split backward, alive until the weight
                                  // pass; of all layers
  Bytes forward_workspace{}, backward_workspace{};  // most that transients hold at once
  // The same where backward is split: both parts in one action, each in its own, without the
  // gradients that weight passes read. Those are there from input pass to weight pass, and as they
  // come before all that is kept has gone, what is held rises above where the action began.
  Bytes whole_workspace{}, input_workspace{}, weight_workspace{};
  Bytes carried{}, whole_rise{}, input_rise{};
  bool takes_late = false;  // the layer that takes the output's gradient has a weight pass only
  Bytes gathered{};         // weights in full of a layer (ZeRO 3), and of the next where prefetched
  Bytes unreduced{};  // gradients in full of a layer (ZeRO 2 and 3), and of the one before where
                      // they are scattered beside
  Bytes backward_communication{};         // both, at the layer where their sum is largest
  Bytes send_forward{}, send_backward{};  // to the next stage, to the one before
};

/// Persistent bytes by block, in order: weights, gradients, optimizer state.
struct StateByBlock {
  StateBytes total;
  std::vector<std::pair<int, StateBytes>> blocks;  // index into Model::blocks
};

inline constexpr std::size_t kGroups = static_cast<std::size_t>(Group::Copies) + 1;
inline constexpr std::size_t kPhases = 4;  // Forward, Backward (both parts), BackwardInput,
                                           // BackwardWeight

/// What one step sends to the host and back where it keeps the optimizer: of the first layer with
/// parameters in order of data flow, of the last, of all. All zero where it does not.
struct HostWork {
  HostShare first, last, all;
  bool overlapped = false;  // gradients leave beside the backward that makes them
};

struct StageWork {
  std::array<PhaseWork, kPhases> phases;  // by Phase
  StepCollectives reduce, gather;
  std::vector<WorkCount> update;
  std::vector<std::uint32_t> update_kernels;  // as PhaseWork::kernels
  PhaseBytes bytes;
  StateByBlock state;
  HostWork host;
};

}  // namespace trainyard
