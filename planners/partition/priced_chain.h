// A PricedChain is the layers of a plan by what they cost, and a SplitShape the pipeline that they
// are split over.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/placement.h"
#include "planners/partition/partition_problem.h"

namespace trainyard {

/// The layers of a plan on one device of each stage. What stands between two layers is part of the
/// one before.
struct PricedChain {
  std::vector<ChainLayer> kinds;       // one class of devices; no output: see SplitShape::transfer
  std::vector<std::uint32_t> layers;   // indices into kinds
  bool ahead = false, behind = false;  // the first, the last of them is no layer but what stands
                                       // ahead of all layers, behind them: embedding, head
};

struct SplitShape {
  int devices = 1, virtual_stages = 1;
  Placement placement = Placement::Cyclic;
  int microbatches = 1;
  Duration transfer{};  // of one message between two stages
  bool blocking_sends = false;
  std::vector<int> live = {};      // as PartitionProblem::live, by virtual stage
  std::vector<Bytes> memory = {};  // of each device, for its layers; empty = no limit. Read only
                                   // where a device has one stage
};

}  // namespace trainyard
